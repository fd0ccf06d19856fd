// One card for each application. A card asks its backend, and tells by the answers what the session's state is: the
// backend says whether the request belonged to a session, and who answered.
"use strict";

const cards = {};

class Card {
  constructor(element) {
    this.app = element.id;
    this.part = (name) => element.querySelector("." + name);
    const on = (name, act) => this.part(name)?.addEventListener("click", act);
    on("once", () => this.ask());
    on("often", () => this.askOften(10));
    on("logout", () => this.logout());
    on("live", () => this.live());
  }

  async ask() {
    const response = await fetch("/" + this.app, { cache: "no-store" });
    if (!response.ok) return this.show({ backend: "nobody", session: "", state: "status " + response.status });
    return this.show(await response.json());
  }

  async askOften(times) {
    let last;
    for (let i = 0; i < times; i++) last = await this.ask();
    return last;
  }

  async logout() {
    const response = await fetch("/" + this.app + "/logout", { method: "POST" });
    return this.show({ ...(await response.json()), state: "ended" });
  }

  // live asks over a WebSocket.
  live() {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket("wss://" + location.host + "/" + this.app + "/live");
      socket.onopen = () => socket.send("who are you?");
      socket.onmessage = (message) => {
        socket.close();
        resolve(this.show({ backend: message.data, session: this.session, state: "pinned" }));
      };
      socket.onerror = () => reject(new Error("the WebSocket failed"));
    });
  }

  show(answer) {
    answer.state ??= this.stateOf(answer);
    this.backend = answer.state === "ended" ? undefined : answer.backend;
    this.session = answer.session;
    this.part("backend").textContent = answer.backend;
    this.part("backend").dataset.backend = answer.backend;
    this.part("state").textContent = answer.state;
    this.part("session").textContent = answer.session;
    const dot = document.createElement("i");
    dot.dataset.backend = answer.backend;
    dot.dataset.state = answer.state;
    dot.title = answer.backend + ", " + answer.state;
    this.part("dots").append(dot);
    while (this.part("dots").children.length > 20) this.part("dots").firstChild.remove();
    return answer;
  }

  stateOf(answer) {
    if (this.app === "plain") return "no session";
    if (!answer.session) return "new";
    return !this.backend || this.backend === answer.backend ? "pinned" : "moved";
  }
}

// Frame stands for the card of another site: the frame itself does the asking.
class Frame {
  constructor(element) {
    this.element = element;
    this.loaded = new Promise((resolve) => element.addEventListener("load", resolve));
    this.origin = location.protocol + "//" + location.host.replace(/^[^.]*/, "chat");
    element.src = this.origin + "/";
  }

  // call has the frame's card do something and gives what came of it.
  async call(what) {
    await this.loaded;
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise((resolve) => (port1.onmessage = (message) => resolve(message.data)));
    this.element.contentWindow.postMessage(what, this.origin, [port2]);
    return answer;
  }

  ask() { return this.call("ask"); }
  logout() { return this.call("logout"); }
}

for (const element of document.querySelectorAll(".card")) cards[element.id] = new Card(element);
const frame = document.querySelector("iframe");
if (frame) cards.chat = new Frame(frame);

// A frame obeys the page that embeds it, in these two things.
window.addEventListener("message", async (message) => {
  if (["ask", "logout"].includes(message.data) && window !== window.parent) {
    message.ports[0].postMessage(await cards.chat[message.data]());
  }
});

async function start() {
  for (const card of Object.values(cards)) if (card instanceof Card) await card.askOften(3);
  const readable = document.getElementById("readable");
  if (readable) readable.textContent = document.cookie || "nothing";
  if (frame) await cards.chat.ask();
}

window.started = start();
