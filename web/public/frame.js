// Shows a message's HTML inside the sandboxed frame. What DOMParser reads never runs; handlers and addresses that are
// scripts are refused by the policy of /frame.html.
"use strict";

const REMOVED = "script, meta, base, iframe, frame, object, embed, link[rel~='preload'], link[rel~='prefetch']";

function show(html) {
  const read = new DOMParser().parseFromString(html, "text/html");
  for (const element of read.querySelectorAll(REMOVED)) element.remove();
  document.head.querySelectorAll("style, link").forEach((element) => element.remove());
  for (const element of read.head.children) document.head.append(document.importNode(element, true));
  document.body.replaceWith(document.importNode(read.body, true));
  tellHeight();
  sizes.disconnect();
  sizes.observe(document.body);
}

function tellHeight() {
  parent.postMessage({ type: "height", height: document.documentElement.scrollHeight }, "*");
}

const sizes = new ResizeObserver(tellHeight);

addEventListener("message", (event) => {
  if (event.source === parent && event.data?.type === "show") show(String(event.data.html));
});

// A link in a preview leads nowhere: the reader only learns its address.
addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[href], area[href]") : null;
  if (!link) return;
  event.preventDefault();
  parent.postMessage({ type: "link", href: link.getAttribute("href") }, "*");
});

addEventListener("submit", (event) => event.preventDefault());

parent.postMessage({ type: "ready" }, "*");
