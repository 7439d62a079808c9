// The duties and rewards of every validator in every epoch, from the JSON of the beacon node and the execution node: its
// committees, blocks, rewards, balances and queues. Shares no code with Tetrad.
import { findJson, getJson, mapFew, rpc } from './calls.ts'
import { slotsPerEpoch } from './genesis.ts'

/** Amounts are gwei, penalties negative. */
const figures = [
  ...(['assigned', 'included', 'inclusions', 'delay', 'correctTarget', 'correctHead', 'lateSource'] as const),
  ...(['duties', 'proposed', 'empty', 'signatures', 'slashesCollected', 'slashesReceived'] as const),
  ...(['attestationReward', 'syncReward', 'blockReward'] as const),
  ...(['lateSourcePenalty', 'wrongTargetPenalty', 'missedPenalty', 'syncPenalty'] as const),
  // NaN: no other validator shows what the vote would have been paid, or no payment of the epoch is known.
  ...(['missedAttestationReward', 'missedSyncReward', 'missedBlockReward', 'missedExecution'] as const),
  ...(['priorityFee', 'mev', 'external', 'earnings', 'deposited', 'withdrawn', 'consolidated'] as const),
] as const

/** One validator in one epoch. */
export type DutyRow = Record<(typeof figures)[number], number>

const emptyRow = (): DutyRow => Object.fromEntries(figures.map((name) => [name, 0])) as DutyRow

/** By validator. */
export type EpochRows = ReadonlyMap<number, DutyRow>

export interface ListedValidator {
  readonly index: string
  readonly balance: string
  readonly status: string
  readonly validator: Readonly<Record<string, string>> & { readonly slashed: boolean }
}
interface Data<T> {
  readonly data: T
}
interface Vote {
  readonly slot: string
  readonly beacon_block_root: string
  readonly target: { readonly epoch: string; readonly root: string }
}
interface Attestation {
  readonly aggregation_bits: string
  readonly committee_bits: string
  readonly data: Vote
}
interface Payload {
  readonly block_hash: string
  readonly fee_recipient: string
  readonly base_fee_per_gas: string
  readonly transactions: readonly string[]
  readonly withdrawals: readonly { readonly validator_index: string; readonly amount: string }[]
}
interface Indexed {
  readonly attesting_indices: readonly string[]
}
interface Block {
  readonly slot: number
  readonly root: string
  readonly proposer: number
  readonly stateRoot: string
  readonly body: {
    readonly attestations: readonly Attestation[]
    readonly sync_aggregate: { readonly sync_committee_bits: string }
    readonly execution_payload: Payload
    readonly proposer_slashings: readonly {
      readonly signed_header_1: { readonly message: { readonly proposer_index: string } }
    }[]
    readonly attester_slashings: readonly { readonly attestation_1: Indexed; readonly attestation_2: Indexed }[]
  }
}
interface PendingDeposit {
  readonly pubkey: string
  readonly amount: string
  readonly slot: string
}
interface PendingConsolidation {
  readonly source_index: string
  readonly target_index: string
}
interface VoteReward {
  readonly validator_index: string
  readonly head: string
  readonly target: string
  readonly source: string
  readonly inactivity: string
}

/** Bits of SSZ, least significant first. A list of bits ends with one more. */
const bitsOf = (hex: string): number[] =>
  [...Buffer.from(hex.slice(2), 'hex')].flatMap((byte) => Array.from({ length: 8 }, (_, bit) => (byte >> bit) & 1))

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

export interface TruthOptions {
  readonly beaconUrl: string
  readonly executionUrl: string
  /** Of all proposers, besides their withdrawal addresses. */
  readonly feeRecipient: string
  readonly until: number
}

export interface ChainTruth {
  /** By epoch. */
  readonly epochs: readonly EpochRows[]
  readonly blocks: readonly Block[]
}

/** Of the epochs before `until`, which must be final. */
export async function readTruth({ beaconUrl, executionUrl, feeRecipient, until }: TruthOptions): Promise<ChainTruth> {
  const get = async <T>(path: string, body?: unknown) => (await getJson<Data<T>>(beaconUrl, path, body)).data
  const slots = Array.from({ length: (until + 1) * slotsPerEpoch + 1 }, (_, slot) => slot)
  const blocks = new Map((await mapFew(slots, readBlock)).flatMap((block) => (block ? [[block.slot, block]] : [])))
  /** The newest block at or before a slot. */
  const blockAt = (slot: number): Block => blocks.get(slot) ?? blockAt(slot - 1)
  const committees = new Map(
    (
      await mapFew(
        slots.filter((slot) => slot % slotsPerEpoch === 0 && slot < until * slotsPerEpoch),
        readCommittees,
      )
    ).flat(),
  )
  const epochs = await mapFew(
    Array.from({ length: until }, (_, epoch) => epoch),
    readEpoch,
  )
  return { epochs, blocks: [...blocks.values()] }

  async function readBlock(slot: number): Promise<Block | undefined> {
    const found = await findJson<
      Data<{ message: { slot: string; proposer_index: string; state_root: string; body: Block['body'] } }>
    >(beaconUrl, `/eth/v2/beacon/blocks/${slot}`)
    if (!found) return undefined
    const { proposer_index, state_root, body } = found.data.message
    const { root } = await get<{ readonly root: string }>(`/eth/v1/beacon/blocks/${slot}/root`)
    return { slot, root, proposer: Number(proposer_index), stateRoot: state_root, body }
  }

  /** By `slot committee`. */
  async function readCommittees(slot: number) {
    const path = `/eth/v1/beacon/states/${slot}/committees?epoch=${slot / slotsPerEpoch}`
    const list =
      await get<{ readonly index: string; readonly slot: string; readonly validators: readonly string[] }[]>(path)
    return list.map(({ index, slot, validators }) => [`${slot} ${index}`, validators.map(Number)] as const)
  }

  async function readEpoch(epoch: number): Promise<EpochRows> {
    const rows = new Map<number, DutyRow>()
    const rowOf = (validator: number | string): DutyRow => rows.getOrInsertComputed(Number(validator), emptyRow)
    const first = epoch * slotsPerEpoch
    const inEpoch = blocksBetween(first, first + slotsPerEpoch)
    const stateOf = (slot: number) => get<ListedValidator[]>(`/eth/v1/beacon/states/${slot}/validators`)
    const [before, last, after, rewarded] = await Promise.all([
      ...[first, first + slotsPerEpoch - 1, first + slotsPerEpoch].map(stateOf),
      stateOf(first + 2 * slotsPerEpoch - 1),
    ])
    addVotes(epoch, rowOf)
    await addVoteRewards(epoch, rewarded as ListedValidator[], rowOf)
    await addProposals(epoch, inEpoch, last as ListedValidator[], rowOf)
    await addSyncRewards(epoch, inEpoch, rowOf)
    await addBalances(first, before as ListedValidator[], last as ListedValidator[], after as ListedValidator[], rowOf)
    return rows
  }

  function blocksBetween(from: number, until: number): Block[] {
    return slots.slice(from, until).flatMap((slot) => blocks.get(slot) ?? [])
  }

  function addVotes(epoch: number, rowOf: (validator: number) => DutyRow): void {
    const first = epoch * slotsPerEpoch
    for (const [key, members] of committees)
      if (Math.floor(Number(key.split(' ')[0]) / slotsPerEpoch) === epoch)
        for (const validator of members) rowOf(validator).assigned = 1
    for (const { slot, body } of blocksBetween(first, first + 2 * slotsPerEpoch))
      for (const { data, aggregation_bits, committee_bits } of body.attestations) {
        if (Number(data.target.epoch) !== epoch) continue
        const voted = bitsOf(aggregation_bits)
        const named = bitsOf(committee_bits).flatMap((bit, index) => (bit ? [index] : []))
        const voters = named.flatMap((index) => committees.get(`${data.slot} ${index}`) ?? [])
        for (const validator of voters.filter((_, at) => voted[at])) {
          const row = rowOf(validator)
          row.inclusions += 1
          if (row.included) continue
          row.included = 1
          row.delay = slot - Number(data.slot)
          row.correctTarget = Number(data.target.root === blockAt(first).root)
          row.correctHead = Number(data.beacon_block_root === blockAt(Number(data.slot)).root)
          row.lateSource = Number(row.delay > Math.floor(Math.sqrt(slotsPerEpoch)))
        }
      }
  }

  async function queryVoteRewards(epoch: number, indices: readonly string[]): Promise<readonly VoteReward[]> {
    const path = `/eth/v1/beacon/rewards/attestations/${epoch}`
    return (await get<{ readonly total_rewards: readonly VoteReward[] }>(path, indices)).total_rewards
  }

  async function addVoteRewards(
    epoch: number,
    validators: readonly ListedValidator[],
    rowOf: (validator: string) => DutyRow,
  ): Promise<void> {
    const { total_rewards: paid, ideal_rewards: ideal } = await get<{
      readonly total_rewards: readonly VoteReward[]
      readonly ideal_rewards: readonly (Omit<VoteReward, 'validator_index'> & { readonly effective_balance: string })[]
    }>(`/eth/v1/beacon/rewards/attestations/${epoch}`, [])
    const effective = new Map(validators.map(({ index, validator }) => [index, validator.effective_balance]))
    const slashed = new Set(validators.filter(({ validator }) => validator.slashed).map(({ index }) => index))
    const idealOf = (index: string): number => {
      const same = ideal.find(({ effective_balance }) => effective_balance === effective.get(index))
      if (same) return sum([same.head, same.target, same.source].map(Number))
      // Above 32 ETH, the client lists no ideal rewards: those of validators with the same balance.
      const others = paid.filter(({ validator_index }) => effective.get(validator_index) === effective.get(index))
      const flags = (['head', 'target', 'source'] as const).map((flag) =>
        Math.max(...others.map((other) => Number(other[flag]))),
      )
      return flags.every((reward) => reward > 0) ? sum(flags) : Number.NaN
    }
    for (const { validator_index, head, target, source, inactivity } of paid) {
      const row = rowOf(validator_index)
      const parts = [head, target, source].map(Number)
      row.attestationReward = sum(parts.filter((part) => part > 0))
      const targetLoss = Math.min(0, Number(target)) + Number(inactivity)
      const sourceLoss = Math.min(0, Number(source))
      if (!row.included || slashed.has(validator_index)) row.missedPenalty = targetLoss + sourceLoss
      else {
        row.lateSourcePenalty = sourceLoss
        row.wrongTargetPenalty = targetLoss
      }
      if (row.assigned && !row.included) row.missedAttestationReward = idealOf(validator_index)
    }
  }

  async function addProposals(
    epoch: number,
    inEpoch: readonly Block[],
    validators: readonly ListedValidator[],
    rowOf: (validator: number | string) => DutyRow,
  ): Promise<void> {
    const duties = await get<{ readonly validator_index: string; readonly slot: string }[]>(
      `/eth/v1/validator/duties/proposer/${epoch}`,
    )
    const paid: { readonly reward: number; readonly execution: number }[] = []
    for (const block of inEpoch) {
      if (block.slot === 0) continue
      const row = rowOf(block.proposer)
      const { total } = await get<{ readonly total: string }>(`/eth/v1/beacon/rewards/blocks/${block.slot}`)
      const { body } = block
      row.proposed += 1
      row.blockReward += Number(total)
      row.empty += Number(body.execution_payload.transactions.length === 0)
      const slashed = [
        ...body.proposer_slashings.map((slashing) => slashing.signed_header_1.message.proposer_index),
        ...body.attester_slashings.flatMap(({ attestation_1, attestation_2 }) =>
          attestation_1.attesting_indices.filter((index) => attestation_2.attesting_indices.includes(index)),
        ),
      ]
      row.slashesCollected += slashed.length
      for (const index of slashed) rowOf(index).slashesReceived += 1
      const credentials = validators[block.proposer]?.validator.withdrawal_credentials ?? ''
      const addresses = [feeRecipient, ...(credentials.startsWith('0x00') ? [] : [`0x${credentials.slice(26)}`])]
      const payment = await readPayment(body.execution_payload, addresses)
      row.priorityFee += payment.fees
      row.mev += payment.value
      row.external += payment.value
      paid.push({ reward: Number(total), execution: payment.fees + payment.value })
    }
    for (const { validator_index, slot } of duties) {
      if (slot === '0') continue
      const row = rowOf(validator_index)
      row.duties += 1
      if (blocks.has(Number(slot))) continue
      row.missedBlockReward += paid.length > 0 ? Math.floor(sum(paid.map(({ reward }) => reward)) / paid.length) : 0
      row.missedExecution += Math.floor(sum(paid.map(({ execution }) => execution)) / paid.length)
    }
  }

  /** What the proposer got outside its balance. All payloads are local; a transfer to it looks like that of a builder. */
  async function readPayment({ block_hash, base_fee_per_gas }: Payload, addresses: readonly string[]) {
    const receipts = (await rpc(executionUrl, 'eth_getBlockReceipts', [block_hash])) as Readonly<
      Record<string, string>
    >[]
    const fees = receipts
      .map(
        ({ gasUsed = '', effectiveGasPrice = '' }) =>
          BigInt(gasUsed) * (BigInt(effectiveGasPrice) - BigInt(base_fee_per_gas)),
      )
      .reduce((total, wei) => total + wei, 0n)
    const block = (await rpc(executionUrl, 'eth_getBlockByHash', [block_hash, true])) as {
      readonly transactions: readonly Readonly<Record<string, string>>[]
    }
    const payments = block.transactions
      .slice(-3)
      .filter(({ from, to, value = '0x0' }) => addresses.includes(to ?? '') && from !== to && BigInt(value) > 0n)
    return { fees: Number(fees / 1_000_000_000n), value: Number(BigInt(payments.at(-1)?.value ?? 0) / 1_000_000_000n) }
  }

  async function addSyncRewards(
    epoch: number,
    inEpoch: readonly Block[],
    rowOf: (validator: number | string) => DutyRow,
  ): Promise<void> {
    const { validators: seats } = await get<{ readonly validators: readonly string[] }>(
      `/eth/v1/beacon/states/${epoch * slotsPerEpoch}/sync_committees?epoch=${epoch}`,
    )
    const seatsOf = Map.groupBy(seats.keys(), (seat) => seats[seat] as string)
    for (const { slot, body } of inEpoch) {
      if (slot === 0) continue
      const bits = bitsOf(body.sync_aggregate.sync_committee_bits)
      const rewards = await get<{ readonly validator_index: string; readonly reward: string }[]>(
        `/eth/v1/beacon/rewards/sync_committee/${slot}`,
        [],
      )
      // A member may have several seats, and may be listed once for each, with the sum of them.
      const net = new Map(rewards.map(({ validator_index, reward }) => [validator_index, Number(reward)]))
      const signedBy = (member: string) => seatsOf.get(member)?.filter((seat) => bits[seat]).length ?? 0
      // Of the member whose balance changed most, because a balance may be empty.
      const [member, own] =
        [...seatsOf].sort(([a], [b]) => Math.abs(net.get(b) ?? 0) - Math.abs(net.get(a) ?? 0))[0] ?? []
      const perSeat = (net.get(member ?? '') ?? 0) / (2 * signedBy(member ?? '') - (own?.length ?? 0))
      if (!(perSeat > 0 && Number.isInteger(perSeat)))
        throw new Error(`sync rewards of slot ${slot}: ${perSeat} per seat`)
      const emptied = body.execution_payload.withdrawals.map(({ validator_index }) => validator_index)
      const stillHas = new Map(
        emptied.length === 0
          ? []
          : (await get<ListedValidator[]>(`/eth/v1/beacon/states/${slot}/validators`)).map(({ index, balance }) => [
              index,
              Number(balance),
            ]),
      )
      for (const [member, own] of seatsOf) {
        const signed = signedBy(member)
        const row = rowOf(member)
        row.signatures += signed
        row.syncReward += signed * perSeat
        row.missedSyncReward += (own.length - signed) * perSeat
        // After its withdrawal, an empty member has nothing to lose. The client states the penalty of that block in full.
        const isEmptied = emptied.includes(member) && stillHas.get(member) === 0
        row.syncPenalty += isEmptied ? 0 : (net.get(member) ?? 0) - signed * perSeat
      }
    }
  }

  async function addBalances(
    first: number,
    before: readonly ListedValidator[],
    last: readonly ListedValidator[],
    after: readonly ListedValidator[],
    rowOf: (validator: string) => DutyRow,
  ): Promise<void> {
    const next = first + slotsPerEpoch
    const queue = <T>(slot: number, name: string) => get<T[]>(`/eth/v1/beacon/states/${slot}/pending_${name}`)
    const indexOf = new Map(after.map(({ index, validator }) => [validator.pubkey, index]))
    const withoutThose = <T>(list: readonly T[], others: readonly T[]): T[] => {
      const texts = others.map((other) => JSON.stringify(other))
      return list.filter((item) => {
        const at = texts.indexOf(JSON.stringify(item))
        if (at >= 0) texts.splice(at, 1)
        return at < 0
      })
    }
    const depositsBefore = await queue<PendingDeposit>(first, 'deposits')
    const depositsLast = await queue<PendingDeposit>(next - 1, 'deposits')
    const depositsAfter = await queue<PendingDeposit>(next, 'deposits')
    for (const { pubkey, amount } of withoutThose(depositsLast, depositsAfter))
      rowOf(indexOf.get(pubkey) as string).deposited += Number(amount)
    // A validator that becomes compounding: its excess goes into the queue, as if deposited in slot 0.
    const excess = [...withoutThose(depositsLast, depositsBefore), ...withoutThose(depositsAfter, depositsLast)]
    for (const { pubkey, amount, slot } of excess)
      if (slot === '0') rowOf(indexOf.get(pubkey) as string).deposited -= Number(amount)
    const moved = withoutThose(
      await queue<PendingConsolidation>(next - 1, 'consolidations'),
      await queue<PendingConsolidation>(next, 'consolidations'),
    )
    // At the end of the epoch, the votes of the one before it are paid first.
    const sources = moved.map(({ source_index }) => source_index)
    const paid = moved.length === 0 ? [] : await queryVoteRewards(first / slotsPerEpoch - 1, sources)
    for (const { source_index, target_index } of moved) {
      const { balance, validator } = last[Number(source_index)] as ListedValidator
      const reward = paid.find(({ validator_index }) => validator_index === source_index)
      const parts = reward ? [reward.head, reward.target, reward.source, reward.inactivity].map(Number) : []
      const whole = Number(balance) + sum(parts)
      const gwei = validator.slashed ? 0 : Math.min(whole, Number(validator.effective_balance))
      rowOf(source_index).consolidated -= gwei
      rowOf(target_index).consolidated += gwei
    }
    for (const { body } of blocksBetween(first + 1, next + 1))
      for (const { validator_index, amount } of body.execution_payload.withdrawals)
        rowOf(validator_index).withdrawn += Number(amount)
    for (const { index, balance } of after) {
      const row = rowOf(index)
      const change = Number(balance) - Number(before[Number(index)]?.balance ?? 0)
      row.earnings = change - row.deposited + row.withdrawn - row.consolidated
    }
  }
}
