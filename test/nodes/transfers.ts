// Sends transactions of every kind, each to an address of its own, so that each is a first funding or must not be one.
import { getContractAddress, type Hex } from 'viem'
import { waitUntil } from '../wait-until.ts'
import { rpc } from './calls.ts'
import { accountOf, contractCodes, createSender, type Sender, type Transaction, wordOf } from './life.ts'

export interface Transfers {
  /** One round of all kinds. Returns when geth has accepted them. */
  sendRound(): Promise<void>
  /** A transaction with a blob. */
  sendBlob(): Promise<void>
  /** Accounts without code that had nothing before. */
  readonly fresh: readonly Hex[]
}

/** The senders must have coins. geth accepts transactions with blobs only from an account that sends nothing else. */
export async function openTransfers(url: string, sender: Sender, blobSender = sender): Promise<Transfers> {
  let made = 1000
  const fresh: Hex[] = []
  const next = (): Hex => {
    const { address } = accountOf(made++)
    const lower = address.toLowerCase() as Hex
    fresh.push(lower)
    return lower
  }
  const own = sender.account.address
  const deploy = async (data: Hex, value = 0n): Promise<Hex> =>
    getContractAddress({ from: own, nonce: BigInt((await sender.send({ data, value })).nonce) })
  const forward = await deploy(contractCodes.forward)
  const revert = await deploy(contractCodes.revert)
  const create = await deploy(contractCodes.create)
  const attempt = await deploy(contractCodes.attempt)
  const pair = (one: Hex, two: Hex): Hex => `${wordOf(one)}${wordOf(two).slice(2)}`
  return {
    fresh,
    async sendBlob() {
      await blobSender.send({ to: next(), value: 10n ** 15n, type: 'eip4844' })
    },
    async sendRound() {
      const value = 10n ** 15n + BigInt(made)
      const plain = (type: NonNullable<Transaction['type']>) => sender.send({ to: next(), value, type })
      for (const type of ['legacy', 'eip2930', 'eip1559', 'eip7702'] as const) await plain(type)
      const twice = next()
      await sender.send({ to: forward, value, data: wordOf(twice) })
      await sender.send({ to: twice, value: 2n * value })
      await sender.send({ to: create, value })
      await sender.send({ value, data: contractCodes.forward })
      const destroy = await deploy(contractCodes.destroy, value)
      await sender.send({ to: destroy, value, data: wordOf(next()) })
      // These move nothing: reverted, reverted inside, no value. The addresses must have no funding.
      await sender.send({ to: revert, value, data: wordOf(next()) })
      await sender.send({ to: attempt, value, data: pair(revert, next()) })
      await sender.send({ to: next(), value: 0n })
      await sender.send({ to: attempt, value, data: pair(forward, next()) })
      // A funded account sends on.
      const middle = accountOf(made++)
      const address = middle.address.toLowerCase() as Hex
      fresh.push(address)
      await sender.send({ to: address, value: 10n ** 17n })
      await waitUntil(async () => BigInt((await rpc(url, 'eth_getBalance', [address, 'latest'])) as string) > 0n)
      await createSender(url, middle, own).send({ to: next(), value })
    },
  }
}
