// The what-if panel: a slider for each feature; the path and the action follow.
import { h, byId, short } from "./dom.js";

const STEPS = 1000;

export class WhatIf {
  constructor(features, onChange) {
    this.features = features;
    this.onChange = onChange;
    this.x = features.map((feature) => feature.start);
    this.rows = features.map((feature, place) => this.row(feature, place));
    byId("sliders").append(...this.rows.map((row) => row.element));
    byId("reset").addEventListener("click", () => this.set(features.map((feature) => feature.start), true));
  }

  row(feature, place) {
    const slider = h("input", { type: "range", min: 0, max: STEPS, step: 1, id: `slider-${place}` });
    const number = h("input", { type: "number", step: "any", "aria-label": `${feature.name}, exactly`, id: `number-${place}` });
    const label = h("label", { for: `slider-${place}` }, feature.name);
    const span = feature.high - feature.low;
    const show = (value, exact) => {
      slider.value = span ? Math.round(((value - feature.low) / span) * STEPS) : 0;
      slider.setAttribute("aria-valuetext", short(value));
      if (exact) number.value = String(value);
      else number.value = short(value, 4);
    };
    slider.addEventListener("input", () => {
      this.change(place, feature.low + (span * slider.valueAsNumber) / STEPS);
      number.value = short(this.x[place], 4);
      slider.setAttribute("aria-valuetext", short(this.x[place]));
    });
    number.addEventListener("input", () => {
      if (!Number.isFinite(number.valueAsNumber)) return;
      this.change(place, number.valueAsNumber);
      slider.value = span ? Math.round(((this.x[place] - feature.low) / span) * STEPS) : 0;
    });
    show(feature.start, false);
    return { element: h("div", { class: "slider" }, label, slider, number), show };
  }

  change(place, value) {
    this.x = this.x.map((old, i) => (i === place ? value : old));
    this.onChange(this.x);
  }

  /** Move all sliders to an observation; without telling anybody, unless asked. */
  set(x, tell = false) {
    this.x = [...x];
    this.rows.forEach((row, place) => row.show(x[place], false));
    if (tell) this.onChange(this.x);
  }
}
