// An epoch start as the figures use it: the state at the first slot of an epoch, proven by its root. It is read from the
// chain process, which sends balances whole and everything else as changes.
//
// 1. Columns are never changed after they were returned. A column without a change is shared with the base.
import { firstSlotOf } from '#core/chain-time.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { View } from '#sources/beacon/ssz.ts'
import { credentialsSize, pubkeySize } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { ChainCaller } from './chain-process.ts'
import type { EpochStartId, EpochStartMessage } from './messages.ts'

const recordSize = 121
/** 8 MB in a message. */
const recordsPerCall = 65_536

export interface EpochStart
  extends Pick<
    EpochStartMessage,
    'epoch' | 'fork' | 'stateRoot' | 'block' | 'proposers' | 'sync' | 'previousJustified' | 'justified' | 'finalized'
  > {
  readonly validators: Validators
  readonly committees: Committees
  /** Since Electra: concatenated SSZ. */
  readonly partialWithdrawals: Uint8Array
}

interface Units {
  readonly slotsPerEpoch: number
  /** Gwei of an effective balance increment. */
  readonly increment: number
}

/** `base`: an epoch start of the same chain that was read before; the nearer, the fewer changes. */
export async function readEpochStart(
  chain: ChainCaller,
  { epoch, root }: EpochStartId,
  units: Units,
  base?: EpochStart,
): Promise<EpochStart> {
  const message = await chain.call('epochStart', { epoch, root, base: base?.stateRoot })
  const changes = message.changes ?? (await readAllRecords(chain, message))
  const { proposers, sync, partialWithdrawals, previousJustified, justified, finalized } = message
  return {
    ...{ epoch, fork: message.fork, stateRoot: message.stateRoot, block: message.block },
    ...{ proposers, sync, partialWithdrawals, previousJustified, justified, finalized },
    validators: {
      ...applyChanges(message, changes, units.increment, message.changes && base?.validators),
      pending: message.pending,
      ...(message.payloads && { payloads: message.payloads }),
      scores: scoresOf(message),
    },
    committees: committeesOf(message, firstSlotOf(units, epoch)),
  }
}

type Changes = NonNullable<EpochStartMessage['changes']>

async function readAllRecords(chain: ChainCaller, { stateRoot, count }: EpochStartMessage): Promise<Changes> {
  const records = new Uint8Array(count * recordSize)
  for (let from = 0; from < count; from += recordsPerCall) {
    const until = Math.min(from + recordsPerCall, count)
    records.set(await chain.call('validatorRecords', { stateRoot, from, until }), from * recordSize)
  }
  return { indices: Uint32Array.from({ length: count }, (_, index) => index), records }
}

/** Positions in the record of a validator. */
const at = {
  credentials: 48,
  effectiveBalance: 80,
  slashed: 88,
  eligible: 89,
  activation: 97,
  exit: 105,
  withdrawable: 113,
}

function applyChanges(
  { count, balances }: EpochStartMessage,
  { indices, records }: Changes,
  increment: number,
  base: Validators | undefined,
): Omit<Validators, 'pending' | 'scores'> {
  const view = new View(records)
  const epochAt = (position: number) => (record: number) => view.u64(record * recordSize + position)
  const floats = (column: Float64Array | undefined, read: (record: number) => number) =>
    updateColumn(column, () => new Float64Array(count), count, indices, read)
  const balanceView = new View(balances)
  return {
    count,
    balance: Float64Array.from({ length: count }, (_, index) => balanceView.u64(index * 8)),
    increments: updateColumn(
      base?.increments,
      () => new Uint32Array(count),
      count,
      indices,
      (record) => view.u64(record * recordSize + at.effectiveBalance) / increment,
    ),
    slashed: updateColumn(
      base?.slashed,
      () => new Uint8Array(count),
      count,
      indices,
      (record) => records[record * recordSize + at.slashed] as number,
    ),
    eligible: floats(base?.eligible, epochAt(at.eligible)),
    activation: floats(base?.activation, epochAt(at.activation)),
    exit: floats(base?.exit, epochAt(at.exit)),
    withdrawable: floats(base?.withdrawable, epochAt(at.withdrawable)),
    pubkeys: updateBytes(base?.pubkeys, pubkeySize, count, indices, records, 0),
    credentials: updateBytes(base?.credentials, credentialsSize, count, indices, records, at.credentials),
  }
}

type Column = Float64Array | Uint32Array | Uint8Array

/** `create`: an empty column of `count` values. */
function updateColumn<T extends Column>(
  base: T | undefined,
  create: () => T,
  count: number,
  indices: Uint32Array,
  read: (record: number) => number,
): T {
  let column = base
  if (!column || column.length !== count) {
    column = create()
    column.set((base ?? create()).subarray(0, count))
  }
  for (let record = 0; record < indices.length; record++) {
    const index = indices[record] as number
    const value = read(record)
    if (column[index] === value) continue
    if (column === base) column = column.slice() as T
    column[index] = value
  }
  return column
}

/** Spare validators, so that a growing network is rarely copied. */
const spareValidators = 16_384

/** The same for concatenated values of `size` bytes. A longer column may use the bytes behind a shorter one. */
function updateBytes(
  base: Uint8Array | undefined,
  size: number,
  count: number,
  indices: Uint32Array,
  records: Uint8Array,
  position: number,
): Uint8Array {
  const known = Math.min(base?.length ?? 0, count * size)
  const bytesOf = (record: number) =>
    records.subarray(record * recordSize + position, record * recordSize + position + size)
  const canShare =
    base !== undefined &&
    base.buffer.byteLength >= count * size &&
    indices.every((index, record) => isFreeOrSame(base, index * size, bytesOf(record), known))
  const column = canShare
    ? new Uint8Array(base.buffer, 0, count * size)
    : new Uint8Array(new ArrayBuffer((count + spareValidators) * size), 0, count * size)
  if (!canShare && base) column.set(base.subarray(0, known))
  for (let record = 0; record < indices.length; record++)
    column.set(bytesOf(record), (indices[record] as number) * size)
  return column
}

/** Bytes that `base` covers must be the same. Behind it, another branch of the chain may have added validators. */
function isFreeOrSame(base: Uint8Array, from: number, value: Uint8Array, known: number): boolean {
  const bytes = new Uint8Array(base.buffer, from, value.length)
  return (
    bytes.every((byte, position) => byte === value[position]) || (from >= known && bytes.every((byte) => byte === 0))
  )
}

function scoresOf({ count, scores }: EpochStartMessage): Float64Array {
  const column = new Float64Array(count)
  for (const [position, index] of scores.indices.entries()) column[index] = scores.values[position] as number
  return column
}

function committeesOf({ committees }: EpochStartMessage, firstSlot: number): Committees {
  const { members, lengths, perSlot } = committees
  let from = 0
  return {
    firstSlot,
    perSlot,
    members: Array.from(lengths, (length) => {
      const committee = members.subarray(from, from + length)
      from += length
      return committee
    }),
  }
}
