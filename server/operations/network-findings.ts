// Doctor findings about networks, besides their age: what prevents a network from being read or served, watch files that
// are not valid, and watch list entries that match no validator.
import type { Network } from '#api/contract/wire/validators.ts'
import { networkSettings, networksOf } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import { describeFork } from '#sources/beacon/next-fork.ts'
import { isNativeInstalled, nativeValidatorsMin, typescriptMemoryMb } from '#validators/chain/native-library.ts'
import { countUnexplained } from '#validators/duties/unexplained.ts'
import { readSourceProblems } from '#validators/entities/source-findings.ts'
import { networkStream, readNetworkHealth } from '#validators/ingest/status/health.ts'
import { findUnknownWatched, unknownWatchedShownMax } from '#validators/ingest/watch/unknown-watched.ts'
import { readWatchNames } from '#validators/registry/watch-names.ts'
import { type DoctorFinding, failFinding, okFinding, warnFinding } from './diagnosis.ts'

export async function networkFindings(context: AppContext): Promise<DoctorFinding[]> {
  if (!context.settings.groups.validators.enabled) return []
  const findings: DoctorFinding[] = []
  for (const network of networksOf(context.settings)) {
    const name = networkStream(network)
    const { covered, problem } = await readNetworkHealth(context, network)
    if (covered.length > 0) findings.push(...(await stateFindings(context, network)))
    const fork = context.validators.ingestStatuses.get(network)?.nextFork
    if (fork?.isKnown)
      findings.push(okFinding(name, `next fork: ${describeFork(fork, context.clock.now())}, supported`))
    if (problem) findings.push(failFinding(name, problem.message, problem.todo))
    const until = covered.at(-1)?.until ?? 0
    const dayBefore = until - networkSettings(context.settings, network).epochsPerDay
    const unexplained = await countUnexplained(context.duties, network, dayBefore)
    if (unexplained > 0) {
      const todo = 'this is a defect of Tetrad: report it with the line of the log that lists them'
      findings.push(warnFinding(name, `the rules do not explain ${unexplained} balances of the last day`, todo))
    }
    // Before the first epoch no validator is known.
    const { names, problem: watchProblem } = await readWatchNames(context, network)
    if (watchProblem !== undefined) {
      const todo = 'correct the file; it is read again with the next poll'
      findings.push(failFinding(name, `the watch file is not valid: ${watchProblem}`, todo))
    }
    for (const { message, todo } of await readSourceProblems(context.ingest, network))
      findings.push(warnFinding(name, message, todo))
    const unknown = covered.length === 0 ? [] : await findUnknownWatched(context.ingest, network, names)
    if (unknown.length === 0) continue
    const more = unknown.length > unknownWatchedShownMax ? ` and ${unknown.length - unknownWatchedShownMax} more` : ''
    const message = `no validator matches these watch list entries: ${unknown.slice(0, unknownWatchedShownMax).join(', ')}${more}`
    const todo = `correct validators.networks.${network}.watch or its watchFile; a new validator is known with the next epoch`
    findings.push(warnFinding(name, message, todo))
  }
  return findings
}

/** About the process that computes states. */
export async function stateFindings(
  { ingest, settings }: AppContext,
  network: Network,
  isInstalled = isNativeInstalled(),
): Promise<DoctorFinding[]> {
  const { states, engine, beacon, checkpointRoot, verifySignatures } = networkSettings(settings, network)
  if (states !== 'computed' || beacon.urls.length === 0) return []
  const name = `states of ${network}`
  const findings: DoctorFinding[] = []
  const row = await ingest.get<{ last: number | null }>(
    'select max(validator_index) as last from validators where network = ?',
    network,
  )
  const validators = (row?.last ?? -1) + 1
  if (engine === 'auto' && validators >= nativeValidatorsMin && !isInstalled) {
    const message = `the native library is not installed for ${process.platform} ${process.arch}, so the states of ${validators} validators cannot be computed`
    const todo = `install @chainsafe/lodestar-z, or set validators.networks.${network}.engine: typescript (about ${typescriptMemoryMb(validators)} MB of memory)`
    findings.push(failFinding(name, message, todo))
  }
  if (beacon.urls.length === 1 && checkpointRoot === '')
    findings.push(okFinding(name, 'its first state is that of one node, which is trusted for it'))
  if (!verifySignatures) {
    const message = 'signatures are not verified: its nodes are trusted that blocks and votes are signed'
    const todo = `when it has caught up, set validators.networks.${network}.verifySignatures: true`
    findings.push(warnFinding(name, message, todo))
  }
  return findings
}
