// The site's search runs in a worker, and browsers start none for a page that is opened from disk.
// There the worker's script runs in a hidden frame instead, behind the interface of a Worker. The
// name of this file is what MkDocs Material's offline plugin looks for.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.ready = new Promise((resolve) => {
        const frame = document.createElement("iframe")
        frame.hidden = true
        frame.onload = () => {
          const inner = frame.contentWindow
          if (inner.started) return
          inner.started = true
          inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
          // The search index is a variable of this page.
          inner.__index = window.__index
          inner.importScripts = (...urls) => Promise.all(urls.map(load))
          const load = (from) => new Promise((done, failed) => {
            const script = inner.document.createElement("script")
            script.src = new URL(from, document.baseURI)
            script.onload = done
            script.onerror = failed
            inner.document.body.append(script)
          })
          load(url).then(() => resolve(inner))
        }
        const begin = () => document.body.append(frame)
        document.body ? begin() : addEventListener("DOMContentLoaded", begin)
      })
      this.addEventListener("message", (event) => this.onmessage && this.onmessage(event))
    }

    postMessage(data) {
      this.ready.then((inner) => inner.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {}
  }
}
