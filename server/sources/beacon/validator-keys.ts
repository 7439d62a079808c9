// Public keys and withdrawal credentials of all validators: most of a state's bytes, and nearly the same from state to state.
// They are copied out of it, so that the rest can go, and what two states of a chain share is kept once.
//
// 1. The key of an index never changes.
// 2. Credentials change with their first byte only: from a key to an address, or from an address to one that compounds.
// 3. Arrays are never changed where somebody may look: a longer one may share the beginning of a shorter one.
export const pubkeySize = 48
export const credentialsSize = 32

/** One after another. */
export interface ValidatorKeys {
  readonly pubkeys: Uint8Array
  readonly credentials: Uint8Array
}

/** Room ahead, so that a network that grows is seldom copied. */
const ahead = 16_384

/** From records that begin with both, one every `stride` bytes. `past`: of an earlier state of the same chain. */
export function readValidatorKeys(
  records: Uint8Array,
  stride: number,
  count: number,
  previous?: ValidatorKeys,
): ValidatorKeys {
  const shared = previous && isContinued(records, stride, count, previous) ? previous : undefined
  return {
    pubkeys: column(records, stride, count, 0, pubkeySize, shared?.pubkeys),
    credentials: column(records, stride, count, pubkeySize, credentialsSize, shared?.credentials),
  }
}

/** Nobody's key or kind of credentials has changed. Keys never do: if one did, the new one must come into view. */
function isContinued(
  records: Uint8Array,
  stride: number,
  count: number,
  { pubkeys, credentials }: ValidatorKeys,
): boolean {
  const both = Math.min(count, pubkeys.length / pubkeySize)
  // By words of four bytes: a million keys are compared with every state.
  const words = new DataView(records.buffer, records.byteOffset, records.byteLength)
  const known = new Uint32Array(pubkeys.buffer, pubkeys.byteOffset, both * wordsPerKey)
  for (let index = 0, at = 0; index < both; index++, at += stride) {
    const key = index * wordsPerKey
    for (let word = 0; word < wordsPerKey; word++) {
      if (words.getUint32(at + word * 4, isLittleEndian) !== known[key + word]) return false
    }
    if (records[at + pubkeySize] !== credentials[index * credentialsSize]) return false
  }
  return true
}

const wordsPerKey = pubkeySize / 4
const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1

function column(
  records: Uint8Array,
  stride: number,
  count: number,
  from: number,
  size: number,
  previous: Uint8Array | undefined,
): Uint8Array {
  const kept = previous && previous.buffer.byteLength >= count * size ? previous : undefined
  const all = new Uint8Array(kept?.buffer ?? new ArrayBuffer((count + ahead) * size), 0, count * size)
  for (let index = kept ? Math.min(count, kept.length / size) : 0; index < count; index++) {
    const at = index * stride + from
    all.set(records.subarray(at, at + size), index * size)
  }
  return all
}

export const pubkeyOf = ({ pubkeys }: Pick<ValidatorKeys, 'pubkeys'>, index: number): Uint8Array =>
  pubkeys.subarray(index * pubkeySize, (index + 1) * pubkeySize)

/** The address that withdrawals go to; undefined while the credentials name a key only. */
export function withdrawalAddressOf(
  { credentials }: Pick<ValidatorKeys, 'credentials'>,
  index: number,
): Uint8Array | undefined {
  const at = index * credentialsSize
  const kind = credentials[at]
  return kind === 1 || kind === 2 ? credentials.subarray(at + 12, at + credentialsSize) : undefined
}

export function hasSameCredentials(a: ValidatorKeys, b: ValidatorKeys, index: number): boolean {
  if (a.credentials.buffer === b.credentials.buffer) return true
  const from = index * credentialsSize
  for (let at = from; at < from + credentialsSize; at++) if (a.credentials[at] !== b.credentials[at]) return false
  return true
}

/** Those of some validators alone, in this order, in buffers of their own. */
export function selectValidatorKeys(
  { pubkeys, credentials }: ValidatorKeys,
  indices: ArrayLike<number>,
): ValidatorKeys {
  const own = {
    pubkeys: new Uint8Array(indices.length * pubkeySize),
    credentials: new Uint8Array(indices.length * credentialsSize),
  }
  for (let at = 0; at < indices.length; at++) {
    const index = indices[at] as number
    own.pubkeys.set(pubkeyOf({ pubkeys }, index), at * pubkeySize)
    own.credentials.set(
      credentials.subarray(index * credentialsSize, (index + 1) * credentialsSize),
      at * credentialsSize,
    )
  }
  return own
}

/** Indices of the validators with these public keys (0x text, lower case); keys that nobody has are left out. */
export function indicesOfKeys(
  { pubkeys }: Pick<ValidatorKeys, 'pubkeys'>,
  keys: Iterable<string>,
): ReadonlyMap<string, number> {
  const byStart = Map.groupBy(new Set(keys), (key) => Number.parseInt(key.slice(2, 10), 16))
  const found = new Map<string, number>()
  if (byStart.size === 0) return found
  const bytes = Buffer.from(pubkeys.buffer, pubkeys.byteOffset, pubkeys.length)
  for (let at = 0; at < bytes.length; at += pubkeySize) {
    if (!byStart.has(bytes.readUInt32BE(at))) continue
    const key = `0x${bytes.toString('hex', at, at + pubkeySize)}`
    if (byStart.get(bytes.readUInt32BE(at))?.includes(key)) found.set(key, at / pubkeySize)
  }
  return found
}
