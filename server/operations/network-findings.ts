// Doctor findings about networks, besides their age: what prevents a network from being read or served, watch files that
// are not valid, and watch list entries that match no validator.
import { networksOf } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import { networkStream, readNetworkHealth } from '#validators/ingest/status/health.ts'
import { findUnknownWatched, unknownWatchedShownMax } from '#validators/ingest/watch/unknown-watched.ts'
import { readWatchNames } from '#validators/registry/watch-names.ts'
import { type DoctorFinding, failFinding, warnFinding } from './diagnosis.ts'

export async function networkFindings(context: AppContext): Promise<DoctorFinding[]> {
  if (!context.settings.groups.validators.enabled) return []
  const findings: DoctorFinding[] = []
  for (const network of networksOf(context.settings)) {
    const name = networkStream(network)
    const { covered, problem, notCompared } = await readNetworkHealth(context, network)
    if (problem) findings.push(failFinding(name, problem.message, problem.todo))
    if (notCompared.length > 0) {
      const todo = 'check this node; until then the other nodes are used without comparison'
      findings.push(warnFinding(name, `its nodes are not compared with each other: ${notCompared.join('; ')}`, todo))
    }
    // Before the first epoch no validator is known.
    const { names, problem: watchProblem } = await readWatchNames(context, network)
    if (watchProblem !== undefined) {
      const todo = 'correct the file; it is read again with the next poll'
      findings.push(failFinding(name, `the watch file is not valid: ${watchProblem}`, todo))
    }
    const unknown = covered.length === 0 ? [] : await findUnknownWatched(context.ingest, network, names)
    if (unknown.length === 0) continue
    const more = unknown.length > unknownWatchedShownMax ? ` and ${unknown.length - unknownWatchedShownMax} more` : ''
    const message = `no validator matches these watch list entries: ${unknown.slice(0, unknownWatchedShownMax).join(', ')}${more}`
    const todo = `correct validators.networks.${network}.watch or its watchFile; a new validator is known with the next epoch`
    findings.push(warnFinding(name, message, todo))
  }
  return findings
}
