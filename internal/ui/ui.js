"use strict";

// Keeps a page current. The server renders every version of the page; this script
// copies what differs into the page that is shown.
(() => {
	const root = document.documentElement;
	const shortest = 2200, longest = 15000; // between two polls, in milliseconds
	let pause = shortest;
	let timer = 0;
	let stream = null;

	const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");

	// Changes the node `shown` so that it equals `fresh`, and keeps what does not differ:
	// focus, selection and scroll positions stay.
	function update(shown, fresh) {
		if (shown.nodeType !== Node.ELEMENT_NODE) {
			if (shown.nodeValue !== fresh.nodeValue) shown.nodeValue = fresh.nodeValue;
			return;
		}
		if (shown.nodeName === "CANVAS" || shown.getAttribute("role") === "status") return; // written by scripts
		for (const { name } of [...shown.attributes]) {
			if (!fresh.hasAttribute(name)) shown.removeAttribute(name);
		}
		for (const { name, value } of fresh.attributes) {
			if (shown.getAttribute(name) !== value) shown.setAttribute(name, value);
		}
		let next = shown.firstChild;
		for (const child of fresh.childNodes) {
			let found = null;
			if (next && alike(next, child)) {
				found = next;
				next = next.nextSibling;
			} else if (child.id) {
				found = document.getElementById(child.id);
				if (found && (found.parentNode !== shown || !alike(found, child))) found = null;
				if (found) shown.insertBefore(found, next);
			}
			if (found) update(found, child);
			else shown.insertBefore(document.importNode(child, true), next);
		}
		while (next) {
			const surplus = next;
			next = next.nextSibling;
			surplus.remove();
		}
	}

	function say(text) {
		const place = document.getElementById("live");
		if (place && place.textContent !== text) place.textContent = text;
	}

	function show(fresh) {
		document.title = fresh.title;
		for (const id of ["header", "content", "updated"]) {
			const from = document.getElementById(id), to = fresh.getElementById(id);
			if (from && to) update(from, to);
		}
		root.dataset.version = fresh.documentElement.dataset.version;
		root.dataset.live = fresh.documentElement.dataset.live;
		document.dispatchEvent(new Event("shown"));
	}

	function load() {
		timer = 0;
		const query = new URLSearchParams(location.search);
		query.set("since", root.dataset.version);
		const request = new XMLHttpRequest();
		request.responseType = "document"; // parsed, and its scripts do not run
		request.timeout = longest;
		request.onloadend = () => {
			const fresh = request.response;
			if (request.status !== 200 || !fresh) {
				pause = Math.min(2 * pause, longest);
				say("The application does not answer.");
			} else if (!fresh.documentElement.dataset.version) {
				say("The application has ended.");
				return; // the answer is not the application's
			} else {
				if (fresh.documentElement.dataset.version !== root.dataset.version) show(fresh);
				pause = shortest;
				say("Live.");
			}
			if (!stream) next();
		};
		request.open("GET", "?" + query);
		request.send();
	}

	function next() {
		if (!timer && !document.hidden && root.dataset.live) timer = setTimeout(load, pause);
	}

	// Reads from a stream when there is something new, and polls if the stream is silent.
	function listen() {
		stream = new EventSource("?events=1");
		const silent = setTimeout(quit, 2000);
		function quit() {
			clearTimeout(silent);
			if (stream) stream.close();
			stream = null;
			next();
		}
		stream.onmessage = (event) => {
			clearTimeout(silent);
			say("Live.");
			if (event.data !== root.dataset.version && !document.hidden) load();
		};
		stream.onerror = quit;
	}

	function follow() {
		if (root.dataset.live === "stream" && !stream) listen();
		else next();
	}

	document.addEventListener("visibilitychange", () => {
		clearTimeout(timer);
		timer = 0;
		pause = shortest;
		if (!document.hidden && root.dataset.live) load();
	});

	document.addEventListener("click", async (event) => {
		if (event.target.id !== "kill" || !confirm("Kill the application?")) return;
		const outcome = document.getElementById("killed");
		try {
			const answer = await fetch("?action=kill", { method: "PUT", headers: { "Content-Type": "text/plain" }, body: event.target.dataset.token });
			outcome.textContent = await answer.text();
		} catch (failure) {
			outcome.textContent = String(failure);
		}
	});

	follow();
})();
