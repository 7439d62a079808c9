// Chooses validators at random by effective balance, as the consensus specifications define it since Gloas: proposers
// and payload committees. Implemented independently of the server.
import { createHash } from 'node:crypto'
import type { SimulatedValidator } from '../records.ts'
import { hex, u64 } from '../ssz-writer.ts'

const domains = { proposer: '00000000', payloadCommittee: '0c000000' }
const maxEffective = 2048n * 10n ** 9n
const maxRandom = 65_535n

const hash = (...parts: readonly Buffer[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest()

/** `mix`: the RANDAO mix at the end of the epoch before the previous one. */
const seedOf = (domain: keyof typeof domains, epoch: number, mix: string): Buffer =>
  hash(Buffer.from(domains[domain], 'hex'), u64(epoch), hex(mix))

type Validators = readonly Pick<SimulatedValidator, 'effective' | 'slashed'>[]

export interface EpochOfChoice {
  readonly epoch: number
  readonly slotsPerEpoch: number
  readonly mix: string
  readonly shuffleRounds: number
}

/** `active`: the validators that are active in the epoch. Slashed ones are not chosen (EIP-8045). */
export function chooseProposers(
  { epoch, slotsPerEpoch, mix, shuffleRounds }: EpochOfChoice,
  validators: Validators,
  active: readonly number[],
): number[] {
  const seed = seedOf('proposer', epoch, mix)
  const candidates = active.filter((index) => !validators[index]?.slashed)
  return Array.from({ length: slotsPerEpoch }, (_, at) => {
    const slotSeed = hash(seed, u64(epoch * slotsPerEpoch + at))
    const order = (position: number) => shuffledIndex(position, candidates.length, slotSeed, shuffleRounds)
    return select(validators, candidates, slotSeed, 1, order)[0] as number
  })
}

/** `members`: all committees of each slot, one after another. */
export function choosePayloadCommittees(
  { epoch, slotsPerEpoch, mix }: EpochOfChoice,
  validators: Validators,
  members: readonly (readonly number[])[],
  seats: number,
): number[][] {
  const seed = seedOf('payloadCommittee', epoch, mix)
  return members.map((candidates, at) =>
    select(validators, candidates, hash(seed, u64(epoch * slotsPerEpoch + at)), seats, (position) => position),
  )
}

function select(
  validators: Validators,
  candidates: readonly number[],
  seed: Buffer,
  count: number,
  order: (position: number) => number,
): number[] {
  const selected: number[] = []
  let random = Buffer.alloc(0)
  for (let at = 0; selected.length < count; at++) {
    if (at % 16 === 0) random = hash(seed, u64(at / 16)) as Buffer<ArrayBuffer>
    const candidate = candidates[order(at % candidates.length)] as number
    const drawn = BigInt(random.readUInt16LE((at % 16) * 2))
    if ((validators[candidate]?.effective ?? 0n) * maxRandom >= maxEffective * drawn) selected.push(candidate)
  }
  return selected
}

/** The swap-or-not shuffle of one position. */
function shuffledIndex(position: number, count: number, seed: Buffer, rounds: number): number {
  let at = position
  for (let round = 0; round < rounds; round++) {
    const roundByte = Buffer.from([round])
    const pivot = Number(hash(seed, roundByte).readBigUInt64LE(0) % BigInt(count))
    const flip = (pivot + count - at) % count
    const higher = Math.max(at, flip)
    const group = Buffer.alloc(4)
    group.writeUInt32LE(Math.floor(higher / 256))
    const source = hash(seed, roundByte, group)
    const byte = source[Math.floor((higher % 256) / 8)] as number
    if ((byte >> (higher % 8)) & 1) at = flip
  }
  return at
}
