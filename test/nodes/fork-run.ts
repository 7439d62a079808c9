// A fork of the execution layer in the middle of a chain: geth --dev crosses to Amsterdam while it is read. Fundings of both
// sides are compared, by the index and by searches.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { end, freePort, launch, withParent } from '../programs.ts'
import { waitUntil } from '../wait-until.ts'
import type { NodePrograms } from './build-nodes.ts'
import { rpc } from './calls.ts'
import type { Comparison } from './compare.ts'
import { compareFundings } from './compare-fundings.ts'
import { readFundings } from './funding-truth.ts'
import { chainId, executionGenesis } from './genesis.ts'
import { accountOf, createSender } from './life.ts'
import { readSystemContracts } from './private-chain.ts'
import { openTetrad, waitForCoverage } from './tetrad-server.ts'
import { openTransfers } from './transfers.ts'

const secondsUntilFork = 60
const secondsAfterFork = 30
const finalityBlocks = 3

/** Amsterdam calls them at the end of every block. These return no requests. */
const builderContracts = {
  '0x0000bff46984e3725691fa540a8c7589300d8282': { balance: '0x0', code: '0x00' },
  '0x000064d678505ad48f8ccb093bc65613800e8282': { balance: '0x0', code: '0x00' },
}

export async function runFork({ geth }: NodePrograms, parent: string, comparison: Comparison): Promise<void> {
  const folder = join(parent, 'fork')
  const data = join(folder, 'geth')
  mkdirSync(data, { recursive: true })
  const forkUnix = Math.floor(Date.now() / 1000) + secondsUntilFork
  const sender = accountOf(1)
  const accounts = {
    ...readSystemContracts(geth),
    ...builderContracts,
    [sender.address]: { balance: '0x33b2e3c9fd0803ce8000000' },
  }
  writeFileSync(join(folder, 'genesis.json'), JSON.stringify(executionGenesis(forkUnix - 600, accounts, forkUnix)))
  execFileSync(geth, ['init', '--datadir', data, '--state.scheme=hash', join(folder, 'genesis.json')], {
    stdio: 'ignore',
  })
  const port = await freePort()
  const args = [
    ...['--dev', '--dev.period', '1', '--datadir', data, '--gcmode=archive', '--state.scheme=hash', '--ipcdisable'],
    ...['--http', '--http.port', String(port), '--http.api', 'eth,debug,net,web3', '--port', '0', '--nodiscover'],
    ...['--authrpc.port', String(await freePort())],
  ]
  const node = await launch({ cwd: folder, command: [...withParent, geth, ...args], ready: port })
  const url = `http://127.0.0.1:${port}`
  const settings = (mode: string) => ({
    console: { enabled: false },
    explorer: {
      chains: [{ id: String(chainId), name: 'Fork', mode, finalityBlocks, headMaxAgeMs: 0, rpc: [url] }],
      index: { everyMs: 500 },
    },
  })
  const indexing = await openTetrad(join(folder, 'index'), settings('index'))
  try {
    const transfers = await openTransfers(url, createSender(url, sender, sender.address))
    while (Date.now() / 1000 < forkUnix + secondsAfterFork) {
      await transfers.sendRound()
      await sleep(2000)
    }
    const last = Number(await rpc(url, 'eth_blockNumber'))
    const head = (await rpc(url, 'eth_getBlockByNumber', [`0x${last.toString(16)}`, false])) as Readonly<
      Record<string, unknown>
    >
    comparison.require('fork', 'the chain has crossed to Amsterdam', 'blockAccessListHash' in head)
    await waitUntil(async () => Number(await rpc(url, 'eth_blockNumber')) > last + finalityBlocks)
    await waitForCoverage(indexing, `chain ${chainId}`, last + 1)
    const truth = await readFundings(url, last)
    const addresses = [...truth.seen]
    compareFundings(
      comparison,
      'first fundings over a fork, index',
      await indexing.findFundings(chainId, addresses),
      truth,
    )
    const searching = await openTetrad(join(folder, 'search'), settings('probe'))
    const rows = await searching.findFundings(chainId, transfers.fresh)
    compareFundings(comparison, 'first fundings over a fork, searches', rows, truth)
    await searching.stop()
  } finally {
    await indexing.stop()
    await end(node, 'SIGTERM')
  }
}
