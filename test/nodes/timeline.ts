// What happens on the private chain, slot by slot: the life of validators, transactions of every kind, and outages.
import { setTimeout as sleep } from 'node:timers/promises'
import { secretKeyOf, slotsPerEpoch } from './genesis.ts'
import {
  consolidationRequest,
  createMessages,
  createSigner,
  depositOf,
  type Sender,
  withdrawalRequest,
} from './life.ts'
import type { PrivateChain } from './private-chain.ts'
import type { RunningTetrad } from './tetrad-server.ts'
import type { Transfers } from './transfers.ts'

/** Deposited later, with keys that no client has. */
export const newcomers = [64, 65, 66] as const
export const toppedUp = [10, 41] as const

export interface Actors {
  readonly chain: PrivateChain
  readonly live: RunningTetrad
  readonly transfers: Transfers
  readonly depositor: Sender
  /** Of the address to which all withdrawals go. */
  readonly withdrawer: Sender
}

interface Step {
  readonly slot: number
  readonly what: string
  readonly act: () => Promise<unknown>
}

function stepsOf({ chain, live, transfers, depositor, withdrawer }: Actors): Step[] {
  const [leader, follower] = chain.beacon
  const [archive] = chain.execution
  const signer = createSigner(chain.validatorsRoot)
  const messages = createMessages(leader.url, signer)
  const address = withdrawer.account.address
  const depositFor = (index: number, prefix: 1 | 2, eth: bigint) =>
    depositor.send(depositOf(secretKeyOf(index), signer, prefix, address, eth))
  const pay = (to: string) => depositor.send({ to: to as `0x${string}`, value: 10n ** 16n })
  const at = (epoch: number, slot: number) => epoch * slotsPerEpoch + slot
  const outageMs = 8000
  return [
    { slot: at(0, 4), what: 'transactions of every other kind', act: () => transfers.sendRound() },
    {
      slot: at(0, 8),
      what: 'deposits: two new validators, one of them compounding, one above 32 ETH, two that are topped up',
      async act() {
        for (const [index, prefix, eth] of [
          [64, 1, 32n],
          [65, 2, 40n],
          [66, 1, 33n],
          [10, 1, 1n],
          [41, 2, 5n],
        ] as const)
          await depositFor(index, prefix, eth)
      },
    },
    {
      slot: at(1, 2),
      what: 'exits by message and by request, a slashed proposer and a slashed attester, new credentials',
      async act() {
        for (const index of [12, 13, 44]) await messages.exit(index, 1)
        await messages.slashProposer(15, 8)
        await messages.slashAttester(16, 1)
        for (const index of [0, 1, 2]) await messages.changeCredentials(index, address)
        await withdrawer.send(withdrawalRequest(24, 0n))
        await withdrawer.send(withdrawalRequest(40, 10_000_000_000n))
        await withdrawer.send(withdrawalRequest(48, 20_000_000_000n))
      },
    },
    {
      slot: at(1, 20),
      what: 'consolidations, two validators become compounding',
      // A block withdraws what 16 validators in a row have above 32 ETH, so one of the two has more when it changes.
      async act() {
        for (const [source, target] of [
          [20, 20],
          [36, 36],
          [14, 42],
          [21, 46],
          [45, 46],
        ] as const)
          await withdrawer.send(consolidationRequest(source, target))
      },
    },
    // The proposers of five validators have no address, so the first one may pay nobody.
    ...[5, 9, 13].map((slot) => ({
      ...{ slot: at(2, slot), what: 'a transfer to all proposers, as from a builder', act: () => pay(address) },
    })),
    { slot: at(3, 0), what: 'eight validators stop', act: () => chain.validators[1].stop() },
    { slot: at(3, 10), what: 'transactions of every other kind', act: () => transfers.sendRound() },
    { slot: at(4, 5), what: 'Tetrad is killed', act: () => live.kill() },
    { slot: at(4, 20), what: 'Tetrad starts again', act: () => live.start() },
    { slot: at(5, 0), what: 'the eight validators start again', act: () => chain.validators[1].start() },
    {
      slot: at(6, 3),
      what: 'the execution node of all proposers is down',
      async act() {
        await archive.stop()
        await sleep(outageMs)
        await archive.start()
      },
    },
    { slot: at(7, 2), what: 'the preferred beacon node of Tetrad hangs', act: async () => follower.freeze() },
    { slot: at(7, 30), what: 'that beacon node continues, and is behind', act: async () => follower.thaw() },
    // It is not started again: geth refuses the older block from which this Prysm would continue.
    {
      slot: at(8, 10),
      what: 'the beacon node of all validators hangs',
      async act() {
        leader.freeze()
        await sleep(outageMs)
        leader.thaw()
      },
    },
    // The nodes do not find each other's data columns without discovery: from here on, the second one stands still.
    { slot: at(9, 5), what: 'a transaction with a blob', act: () => transfers.sendBlob() },
    { slot: at(9, 8), what: 'transactions of every other kind', act: () => transfers.sendRound() },
  ]
}

export async function live(actors: Actors): Promise<void> {
  for (const { slot, what, act } of stepsOf(actors)) {
    await actors.chain.waitForSlot(slot)
    process.stdout.write(`Slot ${actors.chain.currentSlot()}: ${what}\n`)
    await act()
  }
}
