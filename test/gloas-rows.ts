// Every measure of every validator and epoch of the recorded chain that crosses the fork to Gloas, from its truth and
// from the JSON of its blocks, without the code of the server.
import { type Measure, measures } from '#validators/method/measures.ts'
import { exchangesOf } from './beacon-replay.ts'
import { type GloasRow, type GloasSlot, type GloasTruth, gloasRecording } from './gloas-recording.ts'
import type { Row } from './validators-reference.ts'

export const gloasSlotsPerEpoch = 8
export const gloasForkSlot = 32
const epochOf = (slot: number) => Math.floor(slot / gloasSlotsPerEpoch)

interface SlashingJson {
  readonly proposer_slashings: readonly { signed_header_1: { message: { proposer_index: string } } }[]
  readonly attester_slashings: readonly Record<'attestation_1' | 'attestation_2', { attesting_indices: string[] }>[]
}

/** A slashing that a block contains. Each validator of the recording is slashed once. */
interface Slashing {
  readonly slot: number
  readonly validator: number
}

function jsonAt<T>(path: string): T | undefined {
  const found = exchangesOf(`${gloasRecording}/exchanges.ndjson`).find(
    (exchange) => exchange.path === path && exchange.accept === 'application/json' && exchange.status === 200,
  )
  return found && (JSON.parse(found.body) as { data: T }).data
}

function slashingsIn({ slot, proposed }: GloasSlot): Slashing[] {
  const block = proposed
    ? jsonAt<{ message: { body: SlashingJson } }>(`/eth/v2/beacon/blocks/${slot}`)?.message.body
    : undefined
  const proposers = block?.proposer_slashings.map(({ signed_header_1: { message } }) => message.proposer_index) ?? []
  const attesters = (block?.attester_slashings ?? []).flatMap(({ attestation_1, attestation_2 }) =>
    attestation_1.attesting_indices.filter((index) => attestation_2.attesting_indices.includes(index)),
  )
  return [...proposers, ...attesters].map((index) => ({ slot, validator: Number(index) }))
}

/** Votes that a Gloas block includes are judged by the rule of Gloas, also those of Fulu slots. Their index is 0. */
const isHeadRight = (row: GloasRow): boolean =>
  row.headCorrect === true &&
  (row.slot >= gloasForkSlot || (row.inclusionSlot ?? 0) < gloasForkSlot || row.sameSlotVote === true)

const proposerReward = ({ proposerReward: reward }: GloasSlot): number =>
  reward ? reward.attestations + reward.sync + reward.slashings : 0

/** Blocks with a quarter of the score. */
const isEmpty = ({ payload, transactions, selfBuilt }: GloasSlot): boolean =>
  payload === 'in block' ? transactions === 0 : payload === 'empty' && selfBuilt === true

interface ValidatorJson {
  readonly index: string
  readonly validator: Readonly<Record<'effective_balance' | 'activation_epoch' | 'exit_epoch', string>>
}

const validatorsAt = new Map<number, readonly ValidatorJson[]>()

/** The validators in the first state of an epoch. Effective balances only change between epochs. */
const validatorsOf = (epoch: number): readonly ValidatorJson[] =>
  validatorsAt.getOrInsertComputed(
    epoch,
    () => jsonAt<ValidatorJson[]>(`/eth/v1/beacon/states/${epoch * gloasSlotsPerEpoch}/validators`) ?? [],
  )

const increment = 1_000_000_000n
const weights = { timelySource: 14n, timelyTarget: 26n, timelyHead: 14n } as const

function squareRoot(value: bigint): bigint {
  let root = BigInt(Math.floor(Math.sqrt(Number(value))))
  while (root * root > value) root -= 1n
  while ((root + 1n) * (root + 1n) <= value) root += 1n
  return root
}

/** What a vote with all flags is paid at the end of the next epoch, by get_flag_index_deltas of the specification. */
function idealReward(
  rows: readonly GloasRow[],
  epoch: number,
  validator: number,
  slashed: ReadonlySet<number>,
): number {
  const increments = new Map<number, bigint>()
  let active = 0n
  for (const { index, validator: fields } of validatorsOf(epoch + 1)) {
    const balance = BigInt(fields.effective_balance) / increment
    increments.set(Number(index), balance)
    if (BigInt(fields.activation_epoch) <= epoch + 1 && BigInt(fields.exit_epoch) > epoch + 1) active += balance
  }
  const base = (increments.get(validator) ?? 0n) * ((increment * 64n) / squareRoot(active * increment))
  const parts = (['timelySource', 'timelyTarget', 'timelyHead'] as const).map((flag) => {
    const voters = rows.filter((row) => row[flag] && !slashed.has(row.validator))
    const voting = voters.reduce((sum, row) => sum + (increments.get(row.validator) ?? 0n), 0n)
    return (base * weights[flag] * voting) / (active * 64n)
  })
  return Number(parts.reduce((sum, gwei) => sum + gwei, 0n))
}

interface SyncJson {
  readonly sync_aggregate: { readonly sync_committee_bits: string }
}

/** Signatures of a validator in the blocks of an epoch, one per seat. A block reports about the slot before it. */
function syncSignatures(epoch: number, slots: readonly GloasSlot[], validator: number) {
  const path = `/eth/v1/beacon/states/${epoch * gloasSlotsPerEpoch}/sync_committees?epoch=${epoch}`
  const seats = [...(jsonAt<{ validators: string[] }>(path)?.validators.entries() ?? [])]
    .filter(([, index]) => Number(index) === validator)
    .map(([seat]) => seat)
  let signed = 0
  const blocks = slots.filter(({ slot, proposed }) => proposed && slot > 0)
  for (const { slot } of seats.length === 0 ? [] : blocks) {
    const block = jsonAt<{ message: { body: SyncJson } }>(`/eth/v2/beacon/blocks/${slot}`)
    const bits = Buffer.from(block?.message.body.sync_aggregate.sync_committee_bits.slice(2) ?? '', 'hex')
    signed += seats.filter((seat) => ((bits[seat >> 3] ?? 0) >> (seat & 7)) & 1).length
  }
  return { syncSigned: signed, syncMissed: seats.length * blocks.length - signed }
}

const zero = Object.fromEntries(measures.map((name) => [name, 0])) as Record<Measure, number>

export function gloasRows(truth: GloasTruth, until: number): Row[] {
  const slashings = truth.slots.flatMap(slashingsIn)
  return truth.epochs.slice(0, until).flatMap(({ epoch, rows }) => {
    const slots = truth.slots.filter(({ slot }) => epochOf(slot) === epoch)
    const rewards = slots.filter(({ proposed }) => proposed).map(proposerReward)
    const mean = Math.floor(rewards.reduce((sum, gwei) => sum + gwei, 0) / rewards.length)
    const byValidator = new Map(rows.map((row) => [row.validator, row]))
    const slashed = new Set(slashings.filter(({ slot }) => epochOf(slot) <= epoch + 1).map((entry) => entry.validator))
    const { parts = {}, end = [] } = truth.balanceChanges[epoch] ?? {}
    return Array.from({ length: end.length }, (_, validator): Row => {
      const row = byValidator.get(validator)
      const proposed = slots.filter(({ proposer }) => proposer === validator)
      const { withdrawals = 0, deposits = 0, consolidations = 0, ...duties } = parts[validator] ?? {}
      return {
        ...zero,
        epoch,
        validator,
        // A slashed validator pays penalties after its exit as well. They are paid at the end of the next epoch.
        missed_attestation_penalty: truth.balanceChanges[epoch + 1]?.parts[validator]?.attestation ?? 0,
        ...(row && voteMeasures(rows, row, epoch, slashed)),
        proposer_duties: proposed.length,
        proposed: proposed.filter(({ proposed }) => proposed).length,
        proposed_empty: proposed.filter(isEmpty).length,
        block_reward: proposed.reduce((sum, slot) => sum + proposerReward(slot), 0),
        missed_block_reward: proposed.filter(({ proposed }) => !proposed).length * mean,
        slashes_received: slashings.filter((entry) => entry.validator === validator && epochOf(entry.slot) === epoch)
          .length,
        slashes_collected: slashings.filter(({ slot }) => proposed.some((entry) => entry.slot === slot)).length,
        ...syncMeasures(
          syncSignatures(epoch, slots, validator),
          slots.find(({ syncSeatReward }) => syncSeatReward)?.syncSeatReward ?? 0,
        ),
        execution_unknown: row ? 1 : 0,
        earnings: Object.values(duties).reduce((sum, gwei) => sum + gwei, 0),
        deposited: deposits,
        withdrawn: Math.abs(withdrawals),
        consolidated: consolidations,
        // The part has the rewards of the proposers that include slashings as well.
        slashing_penalty: Math.min(0, duties.slashing ?? 0),
      }
    })
  })
}

function syncMeasures(
  { syncSigned, syncMissed }: ReturnType<typeof syncSignatures>,
  gwei: number,
): Partial<Record<Measure, number>> {
  return {
    sync_signatures: syncSigned,
    sync_reward: syncSigned * gwei,
    sync_penalty: 0 - syncMissed * gwei,
    missed_sync_reward: syncMissed * gwei,
  }
}

function voteMeasures(
  rows: readonly GloasRow[],
  row: GloasRow,
  epoch: number,
  slashed: ReadonlySet<number>,
): Partial<Record<Measure, number>> {
  const { included, targetCorrect, reward } = row
  const { source = 0, target = 0, head = 0, inactivity = 0 } = reward ?? {}
  const [sourceLoss, targetLoss] = [Math.min(0, source), Math.min(0, target) + inactivity]
  const isMissed = !included || slashed.has(row.validator)
  return {
    assigned: 1,
    included: Number(included),
    inclusions: row.inclusions,
    inclusion_delay: row.inclusionDelay ?? 0,
    correct_source: Number(included),
    correct_target: Number(targetCorrect === true),
    correct_head: Number(isHeadRight(row)),
    late_source: Number(included && !row.timelySource),
    late_target: Number(targetCorrect === true && !row.timelyTarget),
    attestation_reward: Math.max(0, source) + Math.max(0, target) + head,
    missed_attestation_penalty: isMissed ? sourceLoss + targetLoss : 0,
    missed_attestation_reward: included || !reward ? 0 : idealReward(rows, epoch, row.validator, slashed),
    late_source_penalty: isMissed ? 0 : sourceLoss,
    late_target_penalty: !isMissed && targetCorrect === true ? targetLoss : 0,
    wrong_target_penalty: !isMissed && targetCorrect !== true ? targetLoss : 0,
  }
}
