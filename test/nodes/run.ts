// `npm run test:nodes`: runs Tetrad with geth and Prysm on a private chain, and compares every figure with what the clients
// themselves report. It takes 16 minutes on an idle machine, and needs Go once, to build the clients. Prints how many figures were
// compared and how many are wrong.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildNodes, gethVersion, prysmVersion } from './build-nodes.ts'
import { Comparison } from './compare.ts'
import { runFork } from './fork-run.ts'
import { runPrivateChain } from './private-chain-run.ts'

const folder = mkdtempSync(join(tmpdir(), 'tetrad-nodes-'))
const comparison = new Comparison()
const fail = (error: unknown): void => {
  process.stdout.write(`FAILED: ${error instanceof Error ? (error.stack ?? error.message) : error}\n`)
  process.exitCode = 1
}
const startedMs = performance.now()
try {
  const programs = await buildNodes()
  process.stdout.write(`geth ${gethVersion}, Prysm ${prysmVersion}, in ${folder}\n`)
  const runs = [runPrivateChain(programs, folder, comparison), runFork(programs, folder, comparison)]
  await Promise.all(runs.map((run) => run.catch(fail)))
} catch (error) {
  fail(error)
}
comparison.print()
process.stdout.write(`Time: ${((performance.now() - startedMs) / 60_000).toFixed(1)} min\n`)
if (comparison.wrong > 0 || comparison.compared === 0) process.exitCode = 1
if (!process.env.TEST_NODES_KEEP) rmSync(folder, { recursive: true, force: true })
process.exit()
