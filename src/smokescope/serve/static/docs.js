// The OpenAPI document as a page, drawn here: the usual viewers load their scripts from elsewhere.
const make = (tag, text = "", cls = "") => Object.assign(document.createElement(tag), { textContent: text, className: cls });

/** Words with `code` in them. */
function prose(tag, words) {
  const element = document.createElement(tag);
  words.split("`").forEach((part, index) => element.append(index % 2 ? make("code", part) : part));
  return element;
}

function rows(pairs) {
  const table = make("table");
  for (const [name, words] of pairs) {
    const row = table.insertRow();
    row.insertCell().append(make("code", name));
    row.insertCell().append(prose("span", words));
  }
  return table;
}

for (const id of ["origin", "origin2"]) document.getElementById(id).textContent = location.origin;

const spec = await (await fetch("/openapi.json")).json();
for (const [path, methods] of Object.entries(spec.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const card = make("section", "", "card");
    const title = make("h3");
    title.append(make("span", method.toUpperCase(), "method"), make("code", path));
    card.append(title, prose("p", operation.description ?? ""));
    if (operation.requestBody) {
      const kinds = Object.keys(operation.requestBody.content).join(", ");
      card.append(rows([["body", `${operation.requestBody.description} (${kinds})`]]));
    }
    card.append(rows((operation.parameters ?? []).map((each) => [`?${each.name}=`, each.description ?? ""])));
    card.append(rows(Object.entries(operation.responses).map(([status, each]) => [status, each.description])));
    document.getElementById("operations").append(card);
  }
}
