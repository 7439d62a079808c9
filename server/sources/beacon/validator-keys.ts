// Public keys and withdrawal credentials of all validators. They are most of a state's bytes and hardly change between
// states, so they are copied out of the state and shared between the states of a chain.
//
// 1. The key of an index never changes. Its credentials change at most twice: from a BLS key to an address, and to a
//    compounding validator with the same address.
// 2. A state shares the arrays of an earlier one only if every byte is the same: a node can return a wrong byte once.
// 3. Bytes that a returned array covers are never overwritten. A longer array may share the start of a shorter one.
export const pubkeySize = 48
export const credentialsSize = 32
/** Where an address begins in credentials. */
const addressAt = 12

/** Concatenated, in the order of the indices. */
export interface ValidatorKeys {
  readonly pubkeys: Uint8Array
  readonly credentials: Uint8Array
}

/** Spare capacity, so that a growing network is rarely copied. */
const spareValidators = 16_384

/**
 * Reads from records of `stride` bytes that start with the key and the credentials. `previous`: those of an earlier
 * state of the same chain.
 */
export function readValidatorKeys(
  records: Uint8Array,
  stride: number,
  count: number,
  previous?: ValidatorKeys,
): ValidatorKeys {
  const shared = previous && isUnchanged(records, stride, count, previous) ? previous : undefined
  return {
    pubkeys: column(records, stride, count, 0, pubkeySize, shared?.pubkeys),
    credentials: column(records, stride, count, pubkeySize, credentialsSize, shared?.credentials),
  }
}

/** Whether no key and no credentials have changed. A changed key is a contradiction, which must not be hidden. */
function isUnchanged(
  records: Uint8Array,
  stride: number,
  count: number,
  { pubkeys, credentials }: ValidatorKeys,
): boolean {
  const shared = Math.min(count, pubkeys.length / pubkeySize)
  // Compare words of four bytes, for speed: a million keys are compared with every state.
  const words = new DataView(records.buffer, records.byteOffset, records.byteLength)
  const knownKeys = new Uint32Array(pubkeys.buffer, pubkeys.byteOffset, shared * wordsPerKey)
  const known = new Uint32Array(credentials.buffer, credentials.byteOffset, shared * wordsPerCredentials)
  for (let index = 0, at = 0; index < shared; index++, at += stride) {
    const key = index * wordsPerKey
    for (let word = 0; word < wordsPerKey; word++) {
      if (words.getUint32(at + word * 4, isLittleEndian) !== knownKeys[key + word]) return false
    }
    const from = index * wordsPerCredentials
    for (let word = 0; word < wordsPerCredentials; word++) {
      if (words.getUint32(at + pubkeySize + word * 4, isLittleEndian) !== known[from + word]) return false
    }
  }
  return true
}

const wordsPerKey = pubkeySize / 4
const wordsPerCredentials = credentialsSize / 4
const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1

function column(
  records: Uint8Array,
  stride: number,
  count: number,
  from: number,
  size: number,
  previous: Uint8Array | undefined,
): Uint8Array {
  const reused = previous && previous.buffer.byteLength >= count * size ? previous : undefined
  const all = new Uint8Array(reused?.buffer ?? new ArrayBuffer((count + spareValidators) * size), 0, count * size)
  for (let index = reused ? Math.min(count, reused.length / size) : 0; index < count; index++) {
    const at = index * stride + from
    all.set(records.subarray(at, at + size), index * size)
  }
  return all
}

export const pubkeyOf = ({ pubkeys }: Pick<ValidatorKeys, 'pubkeys'>, index: number): Uint8Array =>
  pubkeys.subarray(index * pubkeySize, (index + 1) * pubkeySize)

/** The withdrawal address; undefined for BLS credentials. */
export function withdrawalAddressOf(
  { credentials }: Pick<ValidatorKeys, 'credentials'>,
  index: number,
): Uint8Array | undefined {
  const at = index * credentialsSize
  const kind = credentials[at]
  return kind === 1 || kind === 2 ? credentials.subarray(at + addressAt, at + credentialsSize) : undefined
}

export function hasSameCredentials(a: ValidatorKeys, b: ValidatorKeys, index: number): boolean {
  if (a.credentials.buffer === b.credentials.buffer) return true
  const from = index * credentialsSize
  for (let at = from; at < from + credentialsSize; at++) if (a.credentials[at] !== b.credentials[at]) return false
  return true
}

/** Copies the keys and credentials of some validators, in this order. */
export function selectValidatorKeys(
  { pubkeys, credentials }: ValidatorKeys,
  indices: ArrayLike<number>,
): ValidatorKeys {
  const selected = {
    pubkeys: new Uint8Array(indices.length * pubkeySize),
    credentials: new Uint8Array(indices.length * credentialsSize),
  }
  for (let at = 0; at < indices.length; at++) {
    const index = indices[at] as number
    selected.pubkeys.set(pubkeyOf({ pubkeys }, index), at * pubkeySize)
    selected.credentials.set(
      credentials.subarray(index * credentialsSize, (index + 1) * credentialsSize),
      at * credentialsSize,
    )
  }
  return selected
}

/** Indices of the validators with these public keys (lower-case 0x text). Unknown keys are omitted. */
export function indicesOfKeys(
  { pubkeys }: Pick<ValidatorKeys, 'pubkeys'>,
  keys: Iterable<string>,
): ReadonlyMap<string, number> {
  const byStart = Map.groupBy(new Set(keys), (key) => Number.parseInt(key.slice(2, 10), 16))
  const indices = new Map<string, number>()
  if (byStart.size === 0) return indices
  const bytes = Buffer.from(pubkeys.buffer, pubkeys.byteOffset, pubkeys.length)
  for (let at = 0; at < bytes.length; at += pubkeySize) {
    if (!byStart.has(bytes.readUInt32BE(at))) continue
    const key = `0x${bytes.toString('hex', at, at + pubkeySize)}`
    if (byStart.get(bytes.readUInt32BE(at))?.includes(key)) indices.set(key, at / pubkeySize)
  }
  return indices
}
