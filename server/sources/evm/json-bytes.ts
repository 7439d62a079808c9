// Reads JSON where it is in the bytes of a response, without an object for each member. Anything that is not as expected
// is an UnexpectedJson: the caller then parses the response as usual, or rejects it.

export class UnexpectedJson extends Error {}

const codeOf = (text: string): number => text.charCodeAt(0)
const quote = codeOf('"')
const backslash = codeOf('\\')
const colon = codeOf(':')
const comma = codeOf(',')
const openList = codeOf('[')
const closeList = codeOf(']')
const openObject = codeOf('{')
const closeObject = codeOf('}')
const space = codeOf(' ')

/** Of a name of a member. Two names that occur in a response may not have the same hash. */
export const nameHash = (name: string): number =>
  Array.from(name, codeOf).reduce((hash, code) => (Math.imul(hash, 31) + code) | 0, 0)

/** The value of a hexadecimal digit; 0xff for other characters. */
const digitValues = new Uint8Array(256).fill(0xff)
for (let value = 0; value < 16; value++) {
  digitValues[codeOf(value.toString(16))] = value
  digitValues[codeOf(value.toString(16).toUpperCase())] = value
}

export class JsonBytes {
  readonly bytes: Buffer
  /** The position of what is read next. */
  at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /** The next character that is not white space. */
  peek(): number | undefined {
    let code = this.bytes[this.at]
    while (code !== undefined && code <= space) code = this.bytes[++this.at]
    return code
  }

  /** Begins a list or an object; false if it is empty. */
  begin(kind: 'list' | 'object'): boolean {
    const isList = kind === 'list'
    if (this.peek() !== (isList ? openList : openObject)) throw new UnexpectedJson()
    this.at += 1
    if (this.peek() !== (isList ? closeList : closeObject)) return true
    this.at += 1
    return false
  }

  /** After an item or a member: whether another one follows. */
  hasNext(kind: 'list' | 'object'): boolean {
    const code = this.peek()
    this.at += 1
    if (code === comma) return true
    if (code === (kind === 'list' ? closeList : closeObject)) return false
    throw new UnexpectedJson()
  }

  /** The hash of the name of the next member. */
  name(): number {
    const { bytes } = this
    if (this.peek() !== quote) throw new UnexpectedJson()
    let hash = 0
    for (let at = this.at + 1; ; at++) {
      const code = bytes[at]
      if (code === quote) {
        this.at = at + 1
        break
      }
      if (code === undefined || code === backslash) throw new UnexpectedJson()
      hash = (Math.imul(hash, 31) + code) | 0
    }
    if (this.peek() !== colon) throw new UnexpectedJson()
    this.at += 1
    return hash
  }

  skip(): void {
    const code = this.peek()
    if (code === quote) this.#skipText()
    else if (code === openList || code === openObject) this.#skipNested()
    else this.#skipWord()
  }

  #skipText(): void {
    const { bytes } = this
    for (let at = this.at + 1; ; at++) {
      const code = bytes[at]
      if (code === quote) {
        this.at = at + 1
        return
      }
      if (code === backslash) at += 1
      else if (code === undefined) throw new UnexpectedJson()
    }
  }

  #skipNested(): void {
    let depth = 0
    do {
      const code = this.bytes[this.at]
      if (code === quote) this.#skipText()
      else {
        if (code === openList || code === openObject) depth += 1
        else if (code === closeList || code === closeObject) depth -= 1
        else if (code === undefined) throw new UnexpectedJson()
        this.at += 1
      }
    } while (depth > 0)
  }

  /** A number, true, false or null. */
  #skipWord(): void {
    const start = this.at
    for (;;) {
      const code = this.bytes[this.at]
      const isEnd = code === undefined || code <= space || code === comma || code === closeList || code === closeObject
      if (isEnd) break
      this.at += 1
    }
    if (this.at === start) throw new UnexpectedJson()
  }

  /** A number, true, false or null as text. */
  word(): string {
    this.peek()
    const start = this.at
    this.#skipWord()
    return this.bytes.toString('latin1', start, this.at)
  }

  /** Reads `"0x…"` and returns the position of its first digit; the last one is before `at - 1`. */
  hex(): number {
    const start = this.#hexStart()
    this.#skipText()
    return start
  }

  /** Like `hex`, with this number of digits. */
  hexOf(digits: number): number {
    const start = this.#hexStart()
    const end = start + digits
    if (this.bytes[end] !== quote) throw new UnexpectedJson()
    this.at = end + 1
    return start
  }

  #hexStart(): number {
    const { bytes } = this
    const isHex = this.peek() === quote && bytes[this.at + 1] === codeOf('0') && bytes[this.at + 2] === codeOf('x')
    if (!isHex) throw new UnexpectedJson()
    return this.at + 3
  }

  /** Reads a quantity such as `"0x1f"`. */
  quantity(): number {
    const start = this.hex()
    const end = this.at - 1
    let value = 0
    for (let at = start; at < end; at++) {
      const digit = digitValues[this.bytes[at] as number] as number
      if (digit > 15) throw new UnexpectedJson()
      value = 16 * value + digit
    }
    if (end === start || !Number.isSafeInteger(value)) throw new UnexpectedJson()
    return value
  }

  /** Whether a list comes next. */
  isList(): boolean {
    return this.peek() === openList
  }

  /** The digits at a position, in lower case and with 0x. */
  hexText(from: number, digits: number): string {
    return this.bytes.toString('latin1', from - 2, from + digits).toLowerCase()
  }

  /** Whether the byte whose digits are here is below 0x80. */
  isBelow80(at: number): boolean {
    return (digitValues[this.bytes[at] as number] as number) < 8
  }

  /** Writes the bytes of an even number of digits to `target`. Returns the position after them. */
  decodeHex(from: number, digits: number, target: Uint8Array, targetAt: number): number {
    const { bytes } = this
    const end = from + digits
    let at = targetAt
    let all = 0
    for (let digit = from; digit < end; digit += 2) {
      const high = digitValues[bytes[digit] as number] as number
      const low = digitValues[bytes[digit + 1] as number] as number
      all |= high | low
      target[at++] = (high << 4) | low
    }
    if (all > 15) throw new UnexpectedJson()
    return at
  }
}
