// Names and keys for what the theme's script adds to a page: tables that scroll, buttons of code blocks.
function name(node) {
  for (const nav of node.querySelectorAll("nav.md-code__nav")) nav.setAttribute("role", "presentation");
  for (const table of node.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
}
new MutationObserver(() => name(document)).observe(document.body, { childList: true, subtree: true });
name(document);
