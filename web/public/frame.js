// Shows a message's HTML inside the sandboxed frame. What DOMParser reads never runs, and the policy of /frame.html
// refuses the rest; what could only be refused is taken out before, so that a refusal in the console means something.
"use strict";

const REMOVED = "script, noscript, meta, base, link, iframe, frame, frameset, object, embed, audio, video, portal";
const FETCHED = ["src", "srcset", "background", "poster", "xlink:href"];
const ELSEWHERE = /url\(\s*(?!["']?data:)[^)]*\)/gi;
const showsImages = new URLSearchParams(location.search).has("images");

function show(html) {
  const read = new DOMParser().parseFromString(html, "text/html");
  for (const element of read.querySelectorAll(REMOVED)) element.remove();
  for (const element of read.querySelectorAll("*")) clean(element);
  for (const element of document.head.querySelectorAll("style")) element.remove();
  for (const element of read.head.querySelectorAll("style")) document.head.append(document.importNode(element, true));
  document.body.replaceWith(document.importNode(read.body, true));
  sizes.disconnect();
  sizes.observe(document.body);
}

function clean(element) {
  for (const { name } of [...element.attributes]) if (name.startsWith("on")) element.removeAttribute(name);
  if (showsImages) return;
  for (const name of FETCHED) {
    if (element.hasAttribute(name) && !/^\s*data:/i.test(element.getAttribute(name))) element.removeAttribute(name);
  }
  if (element.hasAttribute("style")) element.setAttribute("style", element.getAttribute("style").replace(ELSEWHERE, "none"));
  if (element.localName === "style") element.textContent = element.textContent.replace(/@import[^;]*;?/gi, "").replace(ELSEWHERE, "none");
}

/** The height of what is shown, and not of the frame, which may be taller. */
function tellHeight() {
  const { bottom } = document.body.getBoundingClientRect();
  const margin = parseFloat(getComputedStyle(document.body).marginBottom) || 0;
  parent.postMessage({ type: "height", height: Math.ceil(bottom + scrollY + margin) }, "*");
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
