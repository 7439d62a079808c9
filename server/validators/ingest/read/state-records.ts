// Stores on disk what only beacon states contain about an epoch, from the start of the epoch until it is final and
// stored. Most nodes delete their states at finality, and ingest then uses these records
// (behaviour/validators.md#nodes-that-prune-states).
//
// 1. A record is found by its epoch and by the root of its anchor block. The chain up to that block determines
//    everything in the record, so a record of another fork is never used.
// 2. A record is complete or does not exist: it is written under a temporary name, synced and renamed. Records that
//    cannot be read, are damaged or of another version are ignored.
// 3. Public keys are most of the bytes and never change. All records share one file of them. If it does not match a
//    record, the record is ignored.
import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import type { Range } from '#core/ranges.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import type { TransitionState } from '#sources/beacon/transition-state.ts'
import { credentialsSize, pubkeySize, readValidatorKeys, type ValidatorKeys } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { BlockLink } from './beacon-queries.ts'

/** Validators at the first slot of an epoch. */
export interface Boundary {
  readonly validators: Validators
  /** The balances are those before the epoch transition: its rewards must still be added. */
  awaitsRewards: boolean
  /** In records of full states, to compute later states from blocks (../replay). */
  readonly transition?: TransitionState | undefined
}

/** What ingest needs of the states of one epoch. */
export interface EpochStateParts {
  readonly epoch: number
  readonly boundary: Boundary
  readonly committees: Committees
  /** By slot of the epoch. */
  readonly proposers: Int32Array
  /** By seat. */
  readonly sync: Uint32Array
  /** The finalized epoch, as of this epoch. */
  readonly finalizedEpoch: number
}

export interface StateRecord extends EpochStateParts {
  /** The newest block at or before the first slot of the epoch. */
  readonly anchor: BlockLink
}

/** Changes with every change of the format. */
const formatName = 'tetrad state record 4\n'
const hashSize = 32
const keysFile = 'pubkeys'
const recordName = /^(\d{1,16})-([0-9a-f]{64})$/

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export type RecordReader = Pick<StateRecords, 'read' | 'epochs'>

export class StateRecords {
  readonly #dir: string
  /** Names of the records that this process has written or read. */
  readonly #intact = new Set<string>()
  /** Those of the last record that was read. The next one shares most of them. */
  #keys: ValidatorKeys | undefined

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Whether there is an intact record. A record of an earlier process is read once, so that damage is found in time. */
  async has(epoch: number, root: string): Promise<boolean> {
    return this.#intact.has(nameOf(epoch, root)) || (await this.#load(epoch, root)) !== undefined
  }

  /** Those with a record, in ascending order. */
  async epochs(): Promise<number[]> {
    const epochs = new Set((await this.#names()).map(epochOf))
    return [...epochs].sort((a, b) => a - b)
  }

  async read(epoch: number, root: string): Promise<StateRecord | undefined> {
    const loaded = await this.#load(epoch, root)
    if (!loaded) return undefined
    const { record, pubkeys } = loaded
    const { validators } = record.boundary
    this.#keys = shareKeys({ pubkeys, credentials: validators.credentials }, validators.count, this.#keys)
    return { ...record, boundary: { ...record.boundary, validators: { ...validators, ...this.#keys } } }
  }

  async #load(epoch: number, root: string) {
    const name = nameOf(epoch, root)
    const file = await readOptional(join(this.#dir, name))
    const body = file && verifiedBody(file)
    if (!body) return undefined
    const { record, pubkeysHash } = deserialize(await decompress(body)) as StoredRecord
    const length = record.boundary.validators.count * pubkeySize
    const pubkeys = (await readOptional(join(this.#dir, keysFile)))?.subarray(0, length)
    if (!pubkeys || !pubkeysHash.equals(hashOf(pubkeys))) return undefined
    this.#intact.add(name)
    return { record, pubkeys }
  }

  async write(record: StateRecord): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const { validators } = record.boundary
    await this.#writeKeys(validators.pubkeys)
    const stored: StoredRecord = {
      record: { ...record, boundary: { ...record.boundary, validators: { ...validators, pubkeys: new Uint8Array() } } },
      pubkeysHash: hashOf(validators.pubkeys),
    }
    const body = await compress(serialize(stored), fast)
    await this.#replace(nameOf(record.epoch, record.anchor.root), [Buffer.from(formatName), hashOf(body), body])
    this.#intact.add(nameOf(record.epoch, record.anchor.root))
  }

  /** A view of the records up to this epoch. */
  upTo(epoch: number): RecordReader {
    return {
      read: async (at, root) => (at <= epoch ? this.read(at, root) : undefined),
      epochs: async () => (await this.epochs()).filter((at) => at <= epoch),
    }
  }

  /** Deletes the records of these epochs. */
  async remove({ from, until }: Range): Promise<void> {
    for (const name of await this.#names()) {
      if (epochOf(name) < from || epochOf(name) >= until) continue
      await rm(join(this.#dir, name), { force: true })
      this.#intact.delete(name)
    }
  }

  /** Deletes the records of all epochs before this one, except for the kept ones, and unfinished files. */
  async removeBefore(epoch: number, kept: ReadonlySet<number> = new Set()): Promise<void> {
    for (const name of await readOptionalFolder(this.#dir)) {
      const isOld = recordName.test(name) && epochOf(name) < epoch && !kept.has(epochOf(name))
      if (isOld || name.endsWith(temporary)) await rm(join(this.#dir, name), { force: true })
      if (isOld) this.#intact.delete(name)
    }
  }

  async #names(): Promise<string[]> {
    return (await readOptionalFolder(this.#dir)).filter((name) => recordName.test(name))
  }

  /** Appends new keys. If the file has other keys, it is replaced: its records are of another fork, or damaged. */
  async #writeKeys(pubkeys: Uint8Array): Promise<void> {
    const path = join(this.#dir, keysFile)
    const stored = (await readOptional(path)) ?? Buffer.alloc(0)
    const shared = Math.min(stored.length, pubkeys.length)
    if (stored.compare(pubkeys, 0, shared, 0, shared) !== 0) {
      this.#intact.clear()
      return this.#replace(keysFile, [pubkeys])
    }
    if (stored.length >= pubkeys.length) return
    await using file = await open(path, 'a', 0o600)
    await file.appendFile(pubkeys.subarray(shared))
    await file.sync()
  }

  async #replace(name: string, parts: readonly Uint8Array[]): Promise<void> {
    const path = join(this.#dir, name)
    {
      await using file = await open(path + temporary, 'w', 0o600)
      for (const part of parts) await file.appendFile(part)
      await file.sync()
    }
    await rename(path + temporary, path)
    await using folder = await open(this.#dir)
    await folder.sync()
  }
}

interface StoredRecord {
  /** Without public keys. */
  readonly record: StateRecord
  readonly pubkeysHash: Buffer
}

const temporary = '.tmp'

const nameOf = (epoch: number, root: string): string => `${epoch}-${root.slice(2)}`

const epochOf = (name: string): number => Number(recordName.exec(name)?.[1])

const hashOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/** Undefined if the file is damaged or of another version. */
function verifiedBody(file: Buffer): Buffer | undefined {
  const bodyAt = formatName.length + hashSize
  const body = file.subarray(bodyAt)
  const isThisVersion = file.toString('latin1', 0, formatName.length) === formatName
  return isThisVersion && hashOf(body).equals(file.subarray(formatName.length, bodyAt)) ? body : undefined
}

/** Copies the keys into arrays of their own, or into those of an earlier record. */
function shareKeys({ pubkeys, credentials }: ValidatorKeys, count: number, previous?: ValidatorKeys): ValidatorKeys {
  const stride = pubkeySize + credentialsSize
  const records = new Uint8Array(count * stride)
  for (let index = 0; index < count; index++) {
    records.set(pubkeys.subarray(index * pubkeySize, (index + 1) * pubkeySize), index * stride)
    const from = index * credentialsSize
    records.set(credentials.subarray(from, from + credentialsSize), index * stride + pubkeySize)
  }
  return readValidatorKeys(records, stride, count, previous)
}

export const isFileError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error

const readOptional = (path: string): Promise<Buffer | undefined> => readFile(path).catch(ignoreFileError)

const readOptionalFolder = async (path: string): Promise<string[]> => (await readdir(path).catch(ignoreFileError)) ?? []

function ignoreFileError(error: unknown): undefined {
  if (!isFileError(error)) throw error
}
