"use strict";

// Draws the tasks of an application in lanes by core.
(() => {
	const labels = 130, height = 16, axis = 24, legend = 22, barFields = 8; // sizes in pixels
	const outcomes = ["running", "succeeded", "failed", "executor lost", "killed"];
	const colours = ["#4c8ed9", "#d98a3d", "#5aa866", "#a678c8", "#c7a52c", "#3fa3a3", "#d0709a", "#8a8f5c"];
	const failed = "#d0303c", killed = "#8b929b";
	// How each phase of an attempt is shaded: a colour over that of the task set, and its opacity.
	const phases = [["decode", "#000", 0.5], ["run", "#000", 0], ["encode", "#000", 0.25], ["driver and network", "#fff", 0.75]];
	let data = null;
	let span = null; // [from, to] in microseconds; null for all
	let loading = false;

	const canvas = () => document.querySelector("#lanes canvas");
	// Writes text to the status line, or if it is "", how many lanes are not drawn.
	const say = (text) => {
		const omitted = data && data.omitted ? "Lanes of " + data.omitted + " more cores are not drawn." : "";
		document.querySelector("#lanes [role=status]").textContent = text || omitted;
	};

	async function load() {
		const shown = canvas();
		if (!shown || loading) return;
		loading = true;
		const query = new URLSearchParams(document.getElementById("lanes").dataset.source);
		query.set("columns", Math.max(200, Math.min(4000, Math.round(shown.clientWidth))));
		if (span) {
			query.set("from", Math.round(span[0]));
			query.set("to", Math.round(span[1]));
		}
		try {
			const answer = await fetch("?" + query);
			if (answer.ok) {
				data = await answer.json();
				draw();
				if (!shown.matches(":hover")) say("");
			}
		} catch {
			// The next version of the page tries again.
		} finally {
			loading = false;
		}
	}

	const scale = (shown) => (shown.clientWidth - labels) / Math.max(1, data.to - data.from);

	function draw() {
		const shown = canvas();
		if (!shown || !data) return;
		const ratio = window.devicePixelRatio || 1, width = shown.clientWidth, tall = data.lanes.length * height + axis;
		const rows = legendRows(shown, width);
		const whole = tall + rows.length * legend;
		shown.style.height = whole + "px";
		shown.width = width * ratio;
		shown.height = whole * ratio;
		const c = shown.getContext("2d");
		c.scale(ratio, ratio);
		const style = getComputedStyle(shown);
		c.font = "11px " + style.fontFamily;
		c.textBaseline = "middle";
		const perMicro = scale(shown);
		data.lanes.forEach((lane, i) => {
			const top = i * height;
			if (i === 0 || data.lanes[i - 1].executor !== lane.executor) {
				c.fillStyle = style.color;
				c.fillText(lane.executor + " " + lane.host, 4, top + height / 2, labels - 8);
			}
			for (let k = 0; k < lane.bars.length; k += barFields) {
				const [begin, length, set, , outcome, ...parts] = lane.bars.slice(k, k + barFields);
				const left = labels + begin * perMicro, wide = length * perMicro;
				c.fillStyle = outcome === 2 || outcome === 3 ? failed : outcome === 4 ? killed : colours[set % colours.length];
				c.globalAlpha = outcome === 0 ? 0.55 : 1;
				c.fillRect(left, top + 2, Math.max(1, wide - (wide > 4 ? 1 : 0)), height - 4);
				if (wide > 4 && parts[1]) shade(c, left, top + 2, wide - 1, parts.map((part) => part / length));
			}
			c.globalAlpha = 1;
		});
		drawAxis(c, style, width, tall, perMicro);
		rows.forEach((row, i) => row.forEach(({ x, colour, alpha, overlay = [colour, 0], text }) => {
			const y = tall + i * legend + legend / 2;
			for (const [fill, opacity] of [[colour, alpha], overlay]) {
				c.globalAlpha = opacity;
				c.fillStyle = fill;
				c.fillRect(x, y - 5, 10, 10);
			}
			c.globalAlpha = 1;
			c.fillStyle = style.color;
			c.fillText(text, x + 14, y);
		}));
	}

	// Shades the phases of an attempt in its bar. All phases but the last are given as parts of
	// the whole.
	function shade(c, left, top, wide, parts) {
		let from = 0;
		phases.forEach(([, colour, opacity], i) => {
			const part = i < parts.length ? parts[i] : 1 - from;
			c.fillStyle = colour;
			c.globalAlpha = opacity;
			c.fillRect(left + from * wide, top, part * wide, height - 4);
			from += part;
		});
	}

	// Returns what the colours and shades mean, in rows that fit: of the first task sets, as many as
	// there are colours, of outcomes and of phases.
	function legendRows(shown, width) {
		const c = shown.getContext("2d"), named = data.sets.slice(0, colours.length), most = 200;
		c.font = "11px " + getComputedStyle(shown).fontFamily;
		const entries = named.map((set, i) => ({ colour: colours[i], alpha: 1, text: shortened(c, set.name, most) }));
		const shades = phases.map(([text, ...overlay]) => ({ colour: colours[0], alpha: 1, overlay, text }));
		if (data.sets.length > named.length) entries.push({ colour: "transparent", alpha: 1, text: "and " + (data.sets.length - named.length) + " more task sets" });
		entries.push({ colour: failed, alpha: 1, text: "failed or executor lost" }, { colour: killed, alpha: 1, text: "killed" }, { colour: colours[0], alpha: 0.55, text: "still running" }, ...shades);
		const rows = [[]];
		let x = 8;
		for (const entry of entries) {
			const wide = c.measureText(entry.text).width + 30;
			if (x > 8 && x + wide > width) {
				rows.push([]);
				x = 8;
			}
			rows.at(-1).push({ ...entry, x });
			x += wide;
		}
		return rows;
	}

	function shortened(c, text, most) {
		if (c.measureText(text).width <= most) return text;
		let end = text.length;
		while (end > 1 && c.measureText(text.slice(0, end) + "…").width > most) end = Math.floor(end * 0.9);
		return text.slice(0, end) + "…";
	}

	function drawAxis(c, style, width, tall, perMicro) {
		const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((n) => [n, n * 1e3]).concat([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400].map((n) => n * 1e6)).sort((a, b) => a - b);
		const step = steps.find((s) => s * perMicro >= 90) || steps.at(-1);
		c.fillStyle = style.color;
		c.strokeStyle = style.borderTopColor;
		const first = Math.ceil((data.from - data.begin) / step) * step;
		for (let t = first; t <= data.to - data.begin; t += step) {
			const x = labels + (t - (data.from - data.begin)) * perMicro;
			c.beginPath();
			c.moveTo(x, 0);
			c.lineTo(x, tall - axis + 4);
			c.stroke();
			c.fillText(time(t), Math.min(x, width - 60), tall - axis / 2);
		}
	}

	function time(micros) {
		if (micros === 0) return "0";
		if (micros < 1000) return micros + " µs";
		if (micros < 1e6) return micros / 1000 + " ms";
		if (micros < 6e7) return +(micros / 1e6).toFixed(3) + " s";
		const seconds = Math.round(micros / 1e6), pad = (n) => String(n).padStart(2, "0");
		if (seconds < 3600) return Math.floor(seconds / 60) + " min" + (seconds % 60 ? " " + seconds % 60 + " s" : "");
		return Math.floor(seconds / 3600) + ":" + pad(Math.floor(seconds / 60) % 60) + ":" + pad(seconds % 60) + " h";
	}

	// Returns the bar at a position, and the lane's index.
	function at(event) {
		const shown = canvas();
		if (!shown || !data) return null;
		const lane = data.lanes[Math.floor(event.offsetY / height)], micros = (event.offsetX - labels) / scale(shown);
		const slack = 2 / scale(shown);
		for (let k = 0; lane && k < lane.bars.length; k += barFields) {
			const [begin, length, set, task, outcome] = lane.bars.slice(k, k + barFields);
			if (micros >= begin - slack && micros <= begin + length + slack) return { lane, length, set: data.sets[set], task, outcome };
		}
		return null;
	}

	// Zooms by a factor around the middle, or moves by a part of the span.
	function zoom(factor, move) {
		if (!data) return;
		const length = data.to - data.from, middle = (data.from + data.to) / 2 + move * length;
		const half = Math.max(50, (length * factor) / 2);
		const from = Math.max(data.begin, middle - half), to = Math.min(data.end, middle + half);
		span = from <= data.begin && to >= data.end ? null : [from, to];
		load();
	}

	const actions = {
		in: () => zoom(0.5, 0), out: () => zoom(2, 0), earlier: () => zoom(1, -0.3), later: () => zoom(1, 0.3),
		all: () => { span = null; load(); },
	};
	const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "earlier", ArrowRight: "later", 0: "all" };

	document.addEventListener("click", (event) => {
		const action = event.target.dataset && event.target.dataset.zoom;
		if (action) actions[action]();
	});
	document.addEventListener("keydown", (event) => {
		if (event.target !== canvas() || !keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
		event.preventDefault();
		actions[keys[event.key]]();
	});

	let pressed = null; // where a drag over the span to zoom into began
	const shown = canvas();
	if (shown) {
		shown.addEventListener("pointerdown", (event) => { pressed = event.offsetX; });
		shown.addEventListener("pointermove", (event) => {
			const bar = at(event);
			if (!bar) return say("");
			const what = bar.task < 0 ? "Tasks" : "Task " + bar.task;
			say(what + " of " + bar.set.name + ": " + time(bar.length) + ", " + outcomes[bar.outcome] + ", executor " + bar.lane.executor + " on " + bar.lane.host);
		});
		shown.addEventListener("pointerup", (event) => {
			if (pressed === null || !data) return;
			const [left, right] = [pressed, event.offsetX].sort((a, b) => a - b), from = pressed;
			pressed = null;
			if (right - left > 8) {
				const perMicro = scale(shown);
				span = [Math.max(data.begin, data.from + (left - labels) / perMicro), Math.min(data.end, data.from + (right - labels) / perMicro)];
				load();
				return;
			}
			const bar = at(event);
			if (bar && bar.task >= 0 && Math.abs(event.offsetX - from) < 3) {
				location.assign("?" + new URLSearchParams({ page: "task", set: bar.set.id, index: bar.task }));
			}
		});
		addEventListener("resize", draw);
		document.addEventListener("shown", load);
		load();
	}
})();
