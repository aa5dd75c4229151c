// The plainest console there is: sessions, what needs a person, a prompt. All text is set as text, never as markup.
"use strict";
const api = "/api/v1";
const byId = (id) => document.getElementById(id);

async function ask(method, path, body) {
  const answer = await fetch(api + path, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const said = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error(said.error.message);
  return said;
}

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function button(text, act) {
  const made = element("button", text);
  made.type = "button";
  made.addEventListener("click", () => act().catch(complain));
  return made;
}

function complain(error) {
  byId("problem").textContent = error.message;
}

async function show() {
  const { sessions } = await ask("GET", "/sessions");
  byId("sessions").replaceChildren(
    ...sessions.map((view) => element("li", `${view.status}  ${view.title || "draft"}  (${view.cwd})`)),
  );
  const { interactions } = await ask("GET", "/interactions");
  byId("inbox").replaceChildren(...interactions.map(question));
}

function question(item) {
  const decide = (decision) => () =>
    ask("POST", `/interactions/${item.summary.id}/decision`, { decision, input_sha256: item.summary.input_sha256 });
  return element(
    "li",
    `${item.session_title}: ${item.summary.tool} wants to run`,
    element("code", JSON.stringify(item.opened.call.input, null, 2)),
    button("Allow", decide("allow")),
    button("Deny", decide("deny")),
  );
}

async function enter() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname);
    await ask("POST", "/auth/exchange", { code });
  }
  follow();
}

function follow() {
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${api}/ws`);
  let waiting = 0;
  socket.onopen = () => {
    byId("state").textContent = "Live";
    socket.send(JSON.stringify({ type: "hello", protocol: 1 }));
    socket.send(JSON.stringify({ type: "subscribe", topic: "app" }));
  };
  socket.onmessage = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => show().catch(complain), 100);
  };
  socket.onclose = () => {
    byId("state").textContent = "Not connected. Trying again.";
    setTimeout(follow, 2000);
  };
}

byId("new").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData(event.target));
  ask("POST", "/sessions", given).then(() => (byId("problem").textContent = "")).catch(complain);
});
enter().catch((error) => {
  byId("state").textContent = error.message;
});
