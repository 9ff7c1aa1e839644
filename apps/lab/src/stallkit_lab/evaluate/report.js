// Sorts a table by the column whose head is pressed; pressed again, the other way round.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const [head, ...rows] = table.rows;
  if (rows.length < 2) continue;
  for (const [at, cell] of [...head.cells].entries()) {
    if (!cell.textContent) continue;
    const button = document.createElement("button");
    button.textContent = cell.textContent;
    cell.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = cell.getAttribute("aria-sort") !== "descending";
      for (const other of head.cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[at].textContent;
      const order = (a, b) => text(a) - text(b) || text(a).localeCompare(text(b), undefined, { numeric: true });
      const [empty, full] = [rows.filter((row) => !text(row)), rows.filter(text)];
      head.after(...full.sort((a, b) => (down ? order(b, a) : order(a, b))), ...empty);
    });
  }
}
