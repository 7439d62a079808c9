// Small networks whose execution node alters one answer, while the rewards of blocks and the senders of deposits are
// read. What is read meanwhile must be true, and after the node has recovered, everything must be there.
import assert from 'node:assert/strict'
import { Fault } from '#core/fault.ts'
import { createExecutionResponder } from '#simulator/beacon/execution.ts'
import { paidBy } from '#simulator/beacon/payload.ts'
import { depositContract, presentForks } from '#simulator/beacon/plan.ts'
import type { SimulatedBlock } from '#simulator/beacon/records.ts'
import type { Block } from '#sources/beacon/block.ts'
import { openRpc } from '#sources/evm/rpc.ts'
import { createDepositReader, DepositGap } from '#validators/ingest/deposits/deposits.ts'
import { createExecutionSource, type ExecutionSource } from '#validators/ingest/read/execution.ts'
import type { AlterationReport } from './altered-answer.ts'
import type { AlteredRun } from './altered-seeds.ts'
import { serveAnswers } from './altering-proxy.ts'
import { type TestContext, testNowMs } from './context.ts'
import { JumpingClock } from './jumping-clock.ts'
import { MovingHead } from './simulator/moving-head.ts'
import { type CompletedNetwork, simulateNetwork } from './simulator/simulate-network.ts'

const network = 'hoodi'
export const executionChainId = '560048'
const networksCount = 6
/** Every second node returns receipts one by one only. */
export const executionWorlds = networksCount * 2
const slotsPerEpoch = 4
/** So many that some are finalized. */
const epochsBefore = 5
const hourMs = 3_600_000
const { signal } = new AbortController()

export const simulateExecutionChain = (number: number): CompletedNetwork =>
  simulateNetwork(`altered execution ${number}`, {
    ...{ epochs: 13, slotsPerEpoch, slotSeconds: 12, validators: 24, committeesPerSlot: 2, syncSeats: 8 },
    ...{ outage: { from: 0, until: 0 }, missed: 0.05, orphaned: 0, slashing: 0, balanceChanges: 0.4 },
    ...{ forkEpochs: presentForks, hasExecution: true },
  })

/** The beacon block of a simulated one, with what rewards are read by. */
export const beaconBlock = ({ slot, proposer, payload }: SimulatedBlock): Block => {
  const { hash, number, feeRecipient, baseFeeWei, transactions } = payload
  return {
    slot,
    proposer,
    payload: { hash, number, feeRecipient, baseFeeWei, transactions: transactions.length },
  } as Block
}

const addressIn = (credentials: string): string | undefined =>
  credentials.startsWith('0x00') ? undefined : `0x${credentials.slice(-40)}`

/** A chain, and the rewards and deposits that a reader must find. */
class World {
  readonly chain: CompletedNetwork
  readonly hasBlockReceipts: boolean
  head: MovingHead

  constructor(number: number) {
    this.chain = simulateExecutionChain(number % networksCount)
    this.hasBlockReceipts = number < networksCount
    this.head = this.startAgain()
  }

  startAgain(): MovingHead {
    this.head = new MovingHead(this.chain, { headSlot: epochsBefore * slotsPerEpoch })
    return this.head
  }

  addressOf(proposer: number): string | undefined {
    return addressIn(this.chain.snapshots.at(-1)?.validators[proposer]?.credentials ?? '0x00')
  }

  async assertRewards(source: ExecutionSource, epoch: number): Promise<void> {
    const blocks = [...(this.chain.epochs[epoch]?.blocks.values() ?? [])]
    const rewards = await source.read(blocks.map(beaconBlock), (proposer) => this.addressOf(proposer), signal)
    for (const { slot, proposer, payload } of blocks) {
      const paid = paidBy(payload, this.addressOf(proposer) !== undefined)
      const truth = paid && {
        priorityFee: Number(paid.fees),
        baselineMev: Number(paid.mev),
        external: Number(paid.external),
      }
      assert.deepEqual(rewards.get(slot), truth, `rewards of slot ${slot}`)
    }
  }

  /** Senders by public key, of the deposits before the finalized epoch. */
  deposits(): ReadonlySet<string> {
    const finalized = this.chain.snapshots[this.head.headSlot]?.finalized ?? 0
    const deposits = this.chain.epochs[finalized - 1]?.deposits ?? []
    return new Set(deposits.map(({ pubkey, from }) => `${pubkey} ${from}`))
  }
}

async function storedDeposits({ ingest: state }: TestContext): Promise<ReadonlySet<string>> {
  const rows = await state.all<{ pubkey: Uint8Array; address: Uint8Array }>(
    'select pubkey, address from deposit_senders',
  )
  const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`
  return new Set(rows.map(({ pubkey, address }) => `${hex(pubkey)} ${hex(address)}`))
}

const readsMax = 3

/** The server is shared by all runs, which run one after the other. */
export async function openAlteredExecution(
  database: TestContext,
): Promise<AsyncDisposable & { readonly run: AlteredRun }> {
  const worlds = new Map<number, World>()
  let respond: (body: string) => Promise<string>
  const server = await serveAnswers(async ({ sent }) => ({ body: await respond(sent) }))

  const run: AlteredRun = async (seed, alterer) => {
    const number = seed % executionWorlds
    const world = worlds.getOrInsertComputed(number, () => new World(number))
    const head = world.startAgain()
    respond = createExecutionResponder(head, executionChainId, world)
    await database.ingest.write(async (tx) => {
      for (const table of ['deposit_senders', 'cursors']) await tx.run(`delete from ${table}`)
    })
    server.alterer = alterer
    const clock = new JumpingClock(testNowMs)
    const rpc = openRpc({
      ...{ chain: executionChainId, clock, backoffMs: 1 },
      rpc: [{ url: server.url, perSecond: 0, batchMax: 20, timeoutMs: 10_000 }],
    })
    const source = createExecutionSource(rpc)
    const reader = createDepositReader(database.ingest, network, rpc, depositContract)
    let refusals = 0
    const refused = (error: unknown) => {
      assert.ok(error instanceof Fault || error instanceof DepositGap, String((error as Error).stack))
      refusals += 1
    }
    const advance = () => {
      head.advance(slotsPerEpoch)
      return Math.floor(head.headSlot / slotsPerEpoch) - 1
    }
    while (world.chain.headSlot - head.headSlot > 2 * slotsPerEpoch) {
      await world.assertRewards(source, advance()).catch((error: unknown) => {
        if (error instanceof assert.AssertionError) throw error
        refused(error)
      })
      await reader.catchUp(signal).catch(refused)
      const known = world.deposits()
      for (const row of await storedDeposits(database)) assert.ok(known.has(row), `deposit ${row}`)
    }
    alterer.stop()
    // A node on another chain is asked again after some time.
    clock.advance(hourMs)
    const duringFault = refusals
    while (world.chain.headSlot - head.headSlot >= slotsPerEpoch) await world.assertRewards(source, advance())
    for (let epoch = 0; epoch < Math.floor(head.headSlot / slotsPerEpoch); epoch++)
      await world.assertRewards(source, epoch)
    // A gap between the numbers of deposits is found by one read and filled by the next.
    for (let reads = 0; reads < readsMax; reads++) await reader.catchUp(signal).catch(refused)
    assert.deepEqual([...(await storedDeposits(database))].sort(), [...world.deposits()].sort(), 'deposits')
    return duringFault > 0
  }
  return { run, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** What a single node can state without contradicting itself (docs/security.md#trust-in-sources). */
export function isBelievedOfExecution({ question, path }: AlterationReport): boolean {
  if (question.startsWith('eth_getBlockByHash')) return /\.transactions\.\d+\.(from|to|value|input)$/.test(path)
  if (/^eth_get(BlockReceipts|TransactionReceipt)/.test(question))
    return /\.(gasUsed|effectiveGasPrice|status)$/.test(path)
  if (question.startsWith('eth_getTransactionByHash')) return /\.from$/.test(path)
  // The newest deposits can be missing.
  return question.startsWith('eth_getLogs') && /\.(data|transactionHash)$|^(\d+\.)?result(\.\d+)?$/.test(path)
}
