// Adds to Node 24 the standard methods of ECMAScript that this project uses and that only newer versions have. The
// launcher loads it, and with `--import` so does every worker thread. Remove it when Node 24 is no longer supported.

/** @param {object} target @param {Record<string, Function>} methods */
function addMissing(target, methods) {
  for (const [name, value] of Object.entries(methods)) {
    if (!(name in target)) Object.defineProperty(target, name, { value, writable: true, configurable: true })
  }
}

const upsert = {
  getOrInsert(key, value) {
    if (!this.has(key)) this.set(key, value)
    return this.get(key)
  },
  getOrInsertComputed(key, create) {
    if (!this.has(key)) this.set(key, create(key))
    return this.get(key)
  },
}
addMissing(Map.prototype, upsert)
addMissing(WeakMap.prototype, upsert)
addMissing(Uint8Array.prototype, {
  toHex() {
    return Buffer.from(this.buffer, this.byteOffset, this.byteLength).toString('hex')
  },
})
addMissing(Uint8Array, {
  fromHex(text) {
    if (!/^(?:[0-9a-fA-F]{2})*$/.test(text)) throw new SyntaxError('not a text of hexadecimal bytes')
    return Uint8Array.from(Buffer.from(text, 'hex'))
  },
})
