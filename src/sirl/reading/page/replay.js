// An episode to play, step and scrub; at every step the path is lit and the reason told.
import { h, byId, short } from "./dom.js";

const SPEED = 50;

export class Player {
  constructor(replays, onStep) {
    Object.assign(this, { replays, onStep, step: 0, timer: null });
    const choose = byId("episode");
    replays.forEach((replay, i) => choose.append(h("option", { value: i }, `Episode ${i + 1}: score ${short(replay.score, 4)}`)));
    choose.addEventListener("change", () => this.open(Number(choose.value)));
    byId("scrub").addEventListener("input", () => this.go(byId("scrub").valueAsNumber));
    byId("play").addEventListener("click", () => this.toggle());
    byId("back").addEventListener("click", () => this.go(this.step - 1));
    byId("forward").addEventListener("click", () => this.go(this.step + 1));
    byId("player").addEventListener("keydown", (event) => {
      if (event.target.matches("select, input")) return;
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (move) this.go(this.step + move);
    });
    this.open(0);
  }

  open(number) {
    this.replay = this.replays[number];
    byId("scrub").max = this.replay.observations.length - 1;
    this.go(0);
  }

  go(step) {
    const { observations, rewards, pictures, every } = this.replay;
    this.step = Math.min(Math.max(step, 0), observations.length - 1);
    byId("scrub").value = this.step;
    const earned = rewards.slice(0, this.step + 1).reduce((sum, r) => sum + r, 0);
    byId("clock").textContent = `step ${this.step + 1} of ${observations.length}, reward so far ${short(earned, 4)}`;
    const picture = pictures[Math.floor(this.step / every)];
    byId("picture").hidden = !picture;
    if (picture) byId("picture").src = picture;
    this.onStep(observations[this.step]);
    if (this.step === observations.length - 1) this.stop();
  }

  toggle() {
    if (this.timer) return this.stop();
    if (this.step === this.replay.observations.length - 1) this.go(0);
    byId("play").textContent = "Pause";
    this.timer = setInterval(() => this.go(this.step + 1), SPEED);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    byId("play").textContent = "Play";
  }
}
