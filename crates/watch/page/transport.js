// The bar with which a recording is searched and played: one that the page reads, or one that a replay publishes.

import { clock, h, say } from "./dom.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 100, 1000];

const find = (id) => document.getElementById(id);

export class Transport {
  /** `asked` gets what a person asks for: `{at}`, `{playing}`, `{rate}`. Times are seconds since 1970. `words` are those of its buttons, and
   * what its time is. */
  constructor({ first, last }, asked, words = { play: "Play", stop: "Stop", time: "" }) {
    [this.first, this.last, this.isHeld, this.words] = [first, last, false, words];
    [this.play, this.seek, this.moment, this.speed] = ["play", "seek", "moment", "speed"].map(find);
    this.speed.append(...SPEEDS.map((speed) => h("option", { value: speed }, `${speed} ×`)));
    // A slider counts from 0: numbers as large as times are too coarse for it.
    this.seek.max = String(Math.max(last - first, 1e-6));
    this.play.addEventListener("click", () => asked({ playing: this.play.getAttribute("aria-pressed") !== "true" }));
    this.seek.addEventListener("input", () => {
      this.isHeld = true;
      this.tell(first + Number(this.seek.value));
      asked({ at: first + Number(this.seek.value) });
    });
    this.seek.addEventListener("change", () => {
      this.isHeld = false;
      asked({ at: first + Number(this.seek.value), isDone: true });
    });
    this.speed.addEventListener("change", () => asked({ rate: Number(this.speed.value) }));
    this.show({ at: first, rate: 1, playing: false });
    find("transport").hidden = false;
  }

  /** Shows how far the recording is. While a person holds the slider, it stays. */
  show({ at, rate, playing }) {
    this.play.setAttribute("aria-pressed", String(playing));
    say(this.play, playing ? this.words.stop : this.words.play);
    if (![...this.speed.options].some(({ value }) => Number(value) === rate)) {
      this.speed.append(h("option", { value: rate }, `${rate} ×`));
    }
    if (document.activeElement !== this.speed) this.speed.value = String(rate);
    if (this.isHeld) return;
    this.seek.value = String(at - this.first);
    this.tell(at);
  }

  /** The time, in words: of the day, and since the beginning. */
  tell(at) {
    const digits = this.last - this.first < 100 ? 2 : 0;
    const text = `${this.words.time}${clock(at, 10)}, ${(at - this.first).toFixed(digits)} of ${(this.last - this.first).toFixed(digits)} s`;
    say(this.moment, text);
    this.seek.setAttribute("aria-valuetext", text);
  }
}
