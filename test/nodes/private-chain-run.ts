// The whole life of a private chain, with Tetrad beside it, and the comparison of everything that Tetrad reports about it.
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { waitUntil } from '../wait-until.ts'
import type { NodePrograms } from './build-nodes.ts'
import { getJson, rpc } from './calls.ts'
import type { Comparison } from './compare.ts'
import { compareBalances, compareFundings } from './compare-fundings.ts'
import { compareRoots } from './compare-roots.ts'
import { type CountingProxy, openCountingProxy, printCounts } from './counting-proxy.ts'
import { compareFigures, compareMetadata } from './duty-figures.ts'
import { type EpochRows, type ListedValidator, readTruth } from './duty-truth.ts'
import { readFundings } from './funding-truth.ts'
import { chainId, contracts, networkName, secretKeyOf, slotSeconds, slotsPerEpoch } from './genesis.ts'
import { accountOf, createSender } from './life.ts'
import { type PrivateChain, startPrivateChain } from './private-chain.ts'
import { openTetrad, type RunningTetrad, runTetrad, waitForCoverage } from './tetrad-server.ts'
import { live, newcomers, toppedUp } from './timeline.ts'
import { openTransfers } from './transfers.ts'

/** After this epoch, the validators stop. The chain is final up to two epochs before. */
const lastEpoch = 11
const epochsPerDay = 2
const configLinesMax = 10

interface Covered {
  readonly from: number
  readonly until: number
}

const depositor = accountOf(1)
const withdrawer = accountOf(2)
const transferrer = accountOf(3)
const blobSender = accountOf(5)
const feeRecipient = accountOf(4).address.toLowerCase() as Hex
const balance = '0x33b2e3c9fd0803ce8000000'

export async function runPrivateChain(programs: NodePrograms, parent: string, comparison: Comparison): Promise<void> {
  const folder = join(parent, 'chain')
  await mkdir(folder)
  const chain = await startPrivateChain({
    ...{ programs, folder, feeRecipient, withdrawalAddress: withdrawer.address.toLowerCase() },
    accounts: Object.fromEntries(
      [depositor, withdrawer, transferrer, blobSender].map(({ address }) => [address, { balance }]),
    ),
  })
  const servers: RunningTetrad[] = []
  const proxies: CountingProxy[] = []
  const counted = async (name: string, target: string): Promise<string> => {
    const proxy = await openCountingProxy(name, target)
    proxies.push(proxy)
    return proxy.url
  }
  const open = async (name: string, settings: string | object): Promise<RunningTetrad> => {
    const server = await openTetrad(join(folder, name), settings)
    servers.push(server)
    return server
  }
  try {
    const [archive] = chain.execution
    const [leader] = chain.beacon
    const url = archive.url
    const senderOf = (account: typeof depositor) => createSender(url, account, depositor.address)
    // It prefers the nodes that only follow, and once hang.
    const following = await open(
      'live',
      settingsOf({
        index: await counted('index, geth', url),
        beacon: [
          await counted('network, Prysm (preferred)', chain.beacon[1].url),
          await counted('network, Prysm', leader.url),
        ],
        execution: [
          await counted('payments, geth (preferred)', chain.execution[1].url),
          await counted('payments, geth', url),
        ],
      }),
    )
    const initialized = openInitialized(folder, chain, comparison, open)
    initialized.catch(() => {})
    const transfers = await openTransfers(url, senderOf(transferrer), senderOf(blobSender))
    await live({
      ...{ chain, live: following, transfers },
      depositor: senderOf(depositor),
      withdrawer: senderOf(withdrawer),
    })
    await chain.waitForSlot((lastEpoch + 1) * slotsPerEpoch)
    for (const validators of chain.validators) await validators.stop()

    const until = (await readFinalEpoch(leader.url)) - 2
    const name = `network ${networkName}`
    const covered = await waitForCoverage(following, name, until)
    process.stdout.write(`Epochs ${covered.from} to ${covered.until} are stored. Reading the truth\n`)
    const truth = await readTruth({ beaconUrl: leader.url, executionUrl: url, feeRecipient, until: covered.until })
    const validators = await listValidators(leader.url, covered.until)
    checkLife(comparison, truth.epochs, validators)
    await compareRoots(comparison, leader.url, truth.blocks, join(folder, 'genesis.ssz'))

    const depositors = new Map(
      [...newcomers, ...toppedUp].map((index) => [pubkeyOf(index), [depositor.address.toLowerCase()]]),
    )
    const compareServer = async (server: RunningTetrad, { from, until }: Covered, options: object = {}) => {
      const settings = { hasExecution: true, epochsPerHour: 1, epochsPerDay, ...options }
      const compared = { comparison, server: { ...server, ...settings }, epochs: truth.epochs, validators, ...settings }
      await compareFigures(compared, from, until)
      await compareMetadata(compared, validators, depositors)
    }
    printCounts(proxies, covered.until - covered.from)
    await compareServer(following, covered)
    const stateNode = await counted('network with states of the node, Prysm', leader.url)
    const fromNode = await open(
      'states-of-the-node',
      settingsOf({ index: url, beacon: [stateNode], execution: [url], mode: 'probe', states: 'node' }),
    )
    await waitForCoverage(fromNode, name, covered.until)
    printCounts(proxies.slice(-1), covered.until - covered.from)
    await compareServer(fromNode, covered)
    const first = await waitForCoverage(await initialized, name, covered.until)
    process.stdout.write(`tetrad init: epochs ${first.from} to ${first.until}\n`)
    comparison.require('tetrad init', 'its server has read epochs', first.until > first.from)
    const comparedBefore = comparison.compared
    const epochsIn = (seconds: number) => Math.floor(seconds / (slotsPerEpoch * slotSeconds))
    await compareServer(
      await initialized,
      { from: first.from, until: covered.until },
      { hasExecution: false, epochsPerHour: epochsIn(3600), epochsPerDay: epochsIn(86_400) },
    )
    process.stdout.write(`tetrad init: ${comparison.compared - comparedBefore} figures of its server compared\n`)

    const finalBlock = (await rpc(url, 'eth_getBlockByNumber', ['finalized', false])) as { readonly number: string }
    await waitForCoverage(following, `chain ${chainId}`, Number(finalBlock.number) + 1)
    const fundings = await readFundings(url, Number(finalBlock.number))
    const addresses = [...fundings.seen]
    compareFundings(comparison, 'first fundings, index', await following.findFundings(chainId, addresses), fundings)
    const searched = await fromNode.findFundings(chainId, addresses)
    const allContracts = new Set([...fundings.contracts, ...Object.values(contracts)])
    compareFundings(comparison, 'first fundings, searches', searched, fundings, allContracts)
    await compareBalances(comparison, url, fundings, transfers.fresh)
  } finally {
    for (const server of servers) await server.stop()
    for (const proxy of proxies) proxy.close()
    await chain.close()
  }
}

interface Chosen {
  /** URLs of nodes. */
  readonly index: string
  readonly beacon: readonly string[]
  readonly execution: readonly string[]
  readonly mode?: 'index' | 'probe'
  readonly states?: 'computed' | 'node'
}

const settingsOf = ({ index, beacon, execution, mode = 'index', states = 'computed' }: Chosen): object => ({
  console: { enabled: false },
  explorer: {
    chains: [{ id: String(chainId), name: 'Private', mode, rpc: [index] }],
    index: { everyMs: 1000 },
  },
  validators: {
    networks: {
      [networkName]: {
        ...{ epochsPerHour: 1, epochsPerDay, states },
        beacon: { urls: beacon, fromEpoch: 0, everyMs: 1000, timeoutMs: 5000 },
        execution: { rpc: execution, feeRecipients: [feeRecipient] },
      },
    },
  },
})

/** A new user: `tetrad init` with two URLs, then the server, with a chain that is not final yet. */
async function openInitialized(
  folder: string,
  { execution, beacon, waitForSlot }: PrivateChain,
  comparison: Comparison,
  open: (name: string, settings: string) => Promise<RunningTetrad>,
): Promise<RunningTetrad> {
  await waitForSlot(3)
  await runTetrad(folder, ['init', '--rpc', execution[0].url, '--beacon', beacon[0].url, '--config', 'written.yaml'])
  const text = readFileSync(join(folder, 'written.yaml'), 'utf8')
  process.stdout.write(`tetrad init has written:\n${text}`)
  comparison.require('tetrad init', 'a short file', text.trim().split('\n').length <= configLinesMax)
  comparison.require('tetrad init', 'the name of the network', text.includes(networkName))
  const server = await open('initialized', text)
  const isWaiting = async () => (await server.streams()).some((stream) => stream.status === 'waiting')
  await waitUntil(isWaiting)
  return server
}

const pubkeyOf = (index: number): string =>
  `0x${Buffer.from(secretKeyOf(index).toPublicKey().toBytes()).toString('hex')}`

async function readFinalEpoch(url: string): Promise<number> {
  const { data } = await getJson<{ readonly data: { readonly finalized: { readonly epoch: string } } }>(
    url,
    '/eth/v1/beacon/states/head/finality_checkpoints',
  )
  return Number(data.finalized.epoch)
}

/** In the state at the first slot of an epoch. */
async function listValidators(url: string, epoch: number): Promise<readonly ListedValidator[]> {
  const path = `/eth/v1/beacon/states/${epoch * slotsPerEpoch}/validators`
  return (await getJson<{ readonly data: readonly ListedValidator[] }>(url, path)).data
}

/**
 * Everything that the timeline wants must have happened, or the comparison shows less than it claims. On a busy machine,
 * slots without signatures of the sync committee are facts of the chain: what needs these is printed if it is missing.
 */
function checkLife(comparison: Comparison, epochs: readonly EpochRows[], validators: readonly ListedValidator[]): void {
  const rows = epochs.flatMap((epoch) => [...epoch.values()])
  const seen = {
    'a missed vote': rows.some((row) => row.assigned > row.included),
    'a late vote': rows.some((row) => row.delay > 1),
    'a missed block': rows.some((row) => row.duties > row.proposed),
    'a builder payment': rows.some((row) => row.external > 0),
    'two slashings': rows.filter((row) => row.slashesReceived > 0).length === 2,
    'a deposit': rows.some((row) => row.deposited > 0),
    'a withdrawal': rows.some((row) => row.withdrawn > 0),
    consolidations: rows.filter((row) => row.consolidated < 0).length >= 2,
    'an exited validator': validators.some(({ status }) => status.startsWith('exited')),
    'a fully withdrawn validator': validators.some(({ status }) => status === 'withdrawal_done'),
    'new credentials': Number(validators[0]?.validator.withdrawal_credentials?.startsWith('0x01')),
  }
  for (const [what, isSeen] of Object.entries(seen)) comparison.require('life', what, Boolean(isSeen))
  const mayLack = {
    'balance that goes into the queue of deposits': rows.some((row) => row.deposited < 0),
    'an empty member of the sync committee': rows.some((row) => row.missedSyncReward > 0 && row.syncPenalty === 0),
  }
  for (const [what, isSeen] of Object.entries(mayLack)) if (!isSeen) process.stdout.write(`NOT SEEN: ${what}\n`)
}
