// Returns a description of each text whose contrast is below that of WCAG's level AA, 4.5.
(() => {
	const channels = (colour) => {
		const numbers = colour.match(/[0-9.]+/g).map(Number);
		return numbers.length < 4 ? [...numbers, 1] : numbers;
	};
	const ground = (element) => {
		for (let e = element; e; e = e.parentElement) {
			const colour = channels(getComputedStyle(e).backgroundColor);
			if (colour[3] > 0) return colour;
		}
		return [255, 255, 255, 1];
	};
	const luminance = (colour) => {
		const [r, g, b] = colour.slice(0, 3).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const low = new Set();
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const text = walker.currentNode.nodeValue.trim(), element = walker.currentNode.parentElement;
		if (!text || element.closest("noscript") || element.getClientRects().length === 0) continue;
		const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(ground(element))].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05);
		if (ratio < 4.5) low.add(ratio.toFixed(2) + " of " + text.slice(0, 40));
	}
	return [...low];
})()
