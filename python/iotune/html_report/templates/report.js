"use strict";
// The page is whole without this: it adds the choice of a theme, values under the pointer, and
// zooming of access maps.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const root = document.documentElement;

  const chooseTheme = () => {
    const choice = document.getElementById("theme-choice");
    const apply = (theme) => {
      if (theme === "auto") delete root.dataset.theme;
      else root.dataset.theme = theme;
    };
    let kept = "auto";
    try {
      kept = localStorage.getItem("iotune-theme") || "auto";
    } catch (refused) {
      // Files opened from disk may have no storage.
    }
    choice.value = ["light", "dark"].includes(kept) ? kept : "auto";
    apply(choice.value);
    choice.addEventListener("change", () => {
      apply(choice.value);
      try {
        localStorage.setItem("iotune-theme", choice.value);
      } catch (refused) {
        // As above.
      }
    });
    document.getElementById("theme").hidden = false;
  };

  const markSection = () => {
    const links = new Map();
    for (const link of document.querySelectorAll("nav a")) links.set(link.hash.slice(1), link);
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        const link = links.get(entry.target.id);
        if (link) link.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-10% 0px -75% 0px" });
    for (const section of document.querySelectorAll("main section")) watch.observe(section);
  };

  // Digits behind the point that tell values a step apart.
  const digitsFor = (step) => Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  // `step`: how finely sizes are written; 0 as one would say them.
  const sizeText = (count, step = 0) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let at = 0;
    let value = count;
    while (Math.abs(value) >= 1024 && at < units.length - 1) {
      value /= 1024;
      at += 1;
    }
    const digits = step > 0 ? digitsFor(step / 1024 ** at) : value < 10 ? 2 : 1;
    if (at === 0 || digits > 3) return Math.round(count).toLocaleString("en") + " B";
    return value.toFixed(digits) + " " + units[at];
  };
  const timeText = (seconds, step) => {
    const most = Math.max(Math.abs(seconds), step);
    const [unit, factor] = most < 1e-3 ? ["µs", 1e6] : most < 1 ? ["ms", 1e3] : ["s", 1];
    return (seconds * factor).toFixed(Math.min(9, digitsFor(step * factor))) + " " + unit;
  };
  const nice = (step) => {
    const power = 10 ** Math.floor(Math.log10(step));
    return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= step * (1 - 1e-9));
  };

  const tip = document.getElementById("tip");
  const showTip = (event, text) => {
    tip.textContent = text;
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 16 + tip.offsetHeight < innerHeight;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = (below ? event.clientY + 16 : event.clientY - tip.offsetHeight - 12) + "px";
  };
  const hideTip = () => {
    tip.hidden = true;
  };
  // Where an event lies in the frame, 0 to 1 from its left and its top.
  const shareOf = (event, hover) => {
    const box = hover.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };

  const readHeat = (figure, values) => {
    const hover = figure.querySelector(".hover");
    const rows = values.cells.length;
    const bins = values.cells[0].length;
    hover.addEventListener("mousemove", (event) => {
      const [x, y] = shareOf(event, hover);
      const row = Math.min(rows - 1, Math.max(0, Math.floor(y * rows)));
      const bin = Math.min(bins - 1, Math.max(0, Math.floor(x * bins)));
      const from = timeText(bin * values.bin, values.bin / 10);
      const to = timeText((bin + 1) * values.bin, values.bin / 10);
      showTip(event, values.labels[row] + "\n" + from + " to " + to + "\n" +
        sizeText(values.cells[row][bin]));
    });
    hover.addEventListener("mouseleave", hideTip);
  };

  // A loop: process, write, start, end, offset, length, stride, count, outer stride, outer count.
  const loopText = (loop, names) => {
    const [process, write, , , offset, length, stride, count, outerStride, outerCount] = loop;
    const signed = (step) => (step < 0 ? "" : "+") + step;
    let text = "(" + offset + "," + length + ")";
    if (count > 1) text = count + "×{" + text + "; " + signed(stride) + "}";
    if (outerCount > 1) text = outerCount + "×{" + text + "; " + signed(outerStride) + "}";
    return (names[process] || "process " + process) + (write ? " writes " : " reads ") + text;
  };

  class AccessMap {
    static MOST_DRAWN = 6000;

    constructor(figure, values) {
      this.figure = figure;
      this.values = values;
      this.hover = figure.querySelector(".hover");
      this.inner = figure.querySelector(".zoom");
      this.loops = figure.querySelector(".loops");
      this.cells = figure.querySelectorAll(".zoom .cells");
      this.each = document.createElementNS(SVG, "g");
      this.inner.append(this.each);
      [this.left, this.top, this.width, this.height] = values.frame;
      this.whole = [0, values.seconds, 0, values.end];
      this.view = [...this.whole];
      this.axes = [figure.querySelector(".x-axis"), figure.querySelector(".y-axis")];
      this.labels = this.axes.map((axis) => axis.querySelector(".label"));
      this.addTools();
      this.addPointer();
    }

    addTools() {
      const tools = document.createElement("div");
      tools.className = "tools";
      tools.setAttribute("role", "group");
      tools.setAttribute("aria-label", "Zoom of the map");
      const button = (text, name, act) => {
        const one = document.createElement("button");
        one.type = "button";
        one.textContent = text;
        one.setAttribute("aria-label", name);
        one.addEventListener("click", act);
        tools.append(one);
      };
      button("+", "Zoom in", () => this.zoom(0.5));
      button("−", "Zoom out", () => this.zoom(2));
      button("←", "Earlier", () => this.move(-0.25, 0));
      button("→", "Later", () => this.move(0.25, 0));
      button("↑", "Towards the file's end", () => this.move(0, 0.25));
      button("↓", "Towards the file's beginning", () => this.move(0, -0.25));
      button("whole", "The whole map", () => this.show(this.whole));
      this.status = document.createElement("span");
      this.status.setAttribute("role", "status");
      this.status.textContent = "or draw a box in the map";
      tools.append(this.status);
      this.figure.querySelector(".drawing").before(tools);
    }

    addPointer() {
      let from = null;
      const box = document.createElementNS(SVG, "rect");
      box.setAttribute("class", "box");
      const placed = (event) => {
        const [x, y] = shareOf(event, this.hover);
        return [Math.min(1, Math.max(0, x)), Math.min(1, Math.max(0, y))];
      };
      this.hover.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "touch") return;
        from = placed(event);
        this.hover.setPointerCapture(event.pointerId);
        event.preventDefault();
      });
      this.hover.addEventListener("pointermove", (event) => {
        const [x, y] = placed(event);
        if (from === null) {
          this.tell(event, x, y);
          return;
        }
        hideTip();
        box.setAttribute("x", this.left + Math.min(x, from[0]) * this.width);
        box.setAttribute("y", this.top + Math.min(y, from[1]) * this.height);
        box.setAttribute("width", Math.abs(x - from[0]) * this.width);
        box.setAttribute("height", Math.abs(y - from[1]) * this.height);
        if (!box.isConnected) this.hover.before(box);
      });
      this.hover.addEventListener("pointerup", (event) => {
        if (from === null) return;
        const [x, y] = placed(event);
        const [x0, y0] = from;
        from = null;
        box.remove();
        if (Math.abs(x - x0) < 0.01 || Math.abs(y - y0) < 0.01) return;
        const [t0, t1, o0, o1] = this.view;
        const time = (share) => t0 + share * (t1 - t0);
        const offset = (share) => o1 - share * (o1 - o0);
        this.show([time(Math.min(x, x0)), time(Math.max(x, x0)),
          offset(Math.max(y, y0)), offset(Math.min(y, y0))]);
      });
      this.hover.addEventListener("pointerleave", hideTip);
      this.hover.addEventListener("dblclick", () => this.show(this.whole));
    }

    zoom(factor) {
      const [t0, t1, o0, o1] = this.view;
      const [t, o] = [(t0 + t1) / 2, (o0 + o1) / 2];
      const [time, offset] = [(t1 - t0) / 2 * factor, (o1 - o0) / 2 * factor];
      this.show([t - time, t + time, o - offset, o + offset]);
    }

    move(x, y) {
      const [t0, t1, o0, o1] = this.view;
      const [time, offset] = [x * (t1 - t0), y * (o1 - o0)];
      this.show([t0 + time, t1 + time, o0 + offset, o1 + offset]);
    }

    show(view) {
      // Moved back inside of the whole map, and never finer than a byte and a nanosecond.
      const fitted = (low, high, end, least) => {
        const size = Math.min(end, Math.max(least, high - low));
        const begin = Math.min(end - size, Math.max(0, low));
        return [begin, begin + size];
      };
      this.view = [...fitted(view[0], view[1], this.values.seconds, 1e-8),
        ...fitted(view[2], view[3], this.values.end, 8)];
      const [t0, t1, o0, o1] = this.view;
      const x = t0 / this.values.seconds * this.width;
      const y = (1 - o1 / this.values.end) * this.height;
      const width = (t1 - t0) / this.values.seconds * this.width;
      const height = (o1 - o0) / this.values.end * this.height;
      this.inner.setAttribute("viewBox", [x, y, width, height].join(" "));
      // From near cells are large, and say less than what lies on them.
      const near = width < this.width / 8 || height < this.height / 8;
      for (const image of this.cells) image.style.opacity = near ? 0.25 : "";
      this.drawTicks();
      this.drawEach();
      const step = (t1 - t0) / 100;
      this.status.textContent = timeText(t0, step) + " to " + timeText(t1, step) + ", offsets " +
        sizeText(o0, (o1 - o0) / 100) + " to " + sizeText(o1, (o1 - o0) / 100);
    }

    drawTicks() {
      const [t0, t1, o0, o1] = this.view;
      const ticks = (low, high, step) => {
        const found = [];
        for (let at = Math.ceil(low / step - 1e-9); at * step <= high; at += 1) {
          found.push(at * step);
        }
        return found;
      };
      const timeStep = nice((t1 - t0) / 8);
      const unit = 1024 ** Math.max(0, Math.floor(Math.log(o1 - o0) / Math.log(1024)));
      const offsetStep = Math.max(1, nice((o1 - o0) / unit / 5) * unit);
      const bottom = this.top + this.height;
      const draw = (axis, label, parts) => {
        axis.replaceChildren(...parts.flat(), label);
      };
      const made = (name, attributes, text) => {
        const one = document.createElementNS(SVG, name);
        for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
        if (text !== undefined) one.textContent = text;
        return one;
      };
      draw(this.axes[0], this.labels[0], ticks(t0, t1, timeStep).map((time) => {
        const x = this.left + (time - t0) / (t1 - t0) * this.width;
        return [made("path", { class: "tick", d: "M" + x + " " + bottom + "v5" }),
          made("text", { class: "t", x, y: bottom + 19, "text-anchor": "middle" },
            timeText(time, timeStep))];
      }));
      draw(this.axes[1], this.labels[1], ticks(o0, o1, offsetStep).map((offset) => {
        const y = bottom - (offset - o0) / (o1 - o0) * this.height;
        return [made("path", { class: "tick", d: "M" + (this.left - 5) + " " + y + "h5" }),
          made("text", { class: "t", x: this.left - 9, y: y + 4, "text-anchor": "end" },
            sizeText(offset, offsetStep))];
      }));
    }

    // The accesses of loops, one by one, where few enough of them are in view.
    drawEach() {
      const [t0, t1, o0, o1] = this.view;
      const paths = [[], []];
      let left = AccessMap.MOST_DRAWN;
      const sx = this.width / this.values.seconds;
      const sy = this.height / this.values.end;
      for (const loop of this.values.loops) {
        const [, write, start, end, first, length, stride, count, outerStride = 0, outerCount = 1] =
          loop;
        if (end < t0 || start > t1) continue;
        const all = count * outerCount;
        const each = all > 1 ? (end - start) / all : 0;
        const low = each > 0 ? Math.max(0, Math.floor((t0 - start) / each)) : 0;
        const high = each > 0 ? Math.min(all, Math.ceil((t1 - start) / each)) : all;
        if (high - low > left) {
          left = -1;
          break;
        }
        for (let at = low; at < high; at += 1) {
          const offset = first + outerStride * Math.floor(at / count) + stride * (at % count);
          if (offset > o1 || offset + length < o0) continue;
          left -= 1;
          const x = ((start + each * at) * sx).toFixed(4);
          const y = (this.height - (offset + length) * sy).toFixed(4);
          paths[write].push("M" + x + " " + y + "v" + Math.max(length * sy, 1e-4).toFixed(4));
        }
      }
      const apart = left >= 0 && t1 - t0 < this.values.seconds * 0.999;
      this.loops.style.opacity = apart ? 0.35 : 1;
      this.each.replaceChildren(...(apart ? paths : []).map((parts, write) => {
        const path = document.createElementNS(SVG, "path");
        path.setAttribute("class", write ? "each-write" : "each-read");
        path.setAttribute("d", parts.join(""));
        return path;
      }));
    }

    tell(event, x, y) {
      const [t0, t1, o0, o1] = this.view;
      const time = t0 + x * (t1 - t0);
      const offset = o1 - y * (o1 - o0);
      let nearest = null;
      let least = (o1 - o0) * 0.02;
      for (const loop of this.values.loops) {
        const [, , start, end, first, length, stride, count, outerStride = 0, outerCount = 1] = loop;
        const slack = (t1 - t0) * 0.004;
        if (time < start - slack || time > end + slack) continue;
        const share = end > start ? Math.min(1, Math.max(0, (time - start) / (end - start))) : 0;
        const at = outerCount > 1
          ? first + share * outerStride * (outerCount - 1)
          : first + share * stride * (count - 1);
        const reach = outerCount > 1 ? Math.abs(stride) * (count - 1) : 0;
        const away = offset < at ? at - offset : Math.max(0, offset - at - length - reach);
        if (away <= least) {
          least = away;
          nearest = loop;
        }
      }
      const place = timeText(time, (t1 - t0) / 1000) + ", offset " +
        sizeText(offset, (o1 - o0) / 1000);
      showTip(event, place + (nearest ? "\n" + loopText(nearest, this.values.names) : ""));
    }
  }

  chooseTheme();
  if ("IntersectionObserver" in window) markSection();
  for (const script of document.querySelectorAll("script.values")) {
    const values = JSON.parse(script.textContent);
    const figure = script.closest("figure");
    if (values.kind === "heat") readHeat(figure, values);
    if (values.kind === "map") new AccessMap(figure, values);
  }
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
})();
