// What the doctor says of networks beyond how old they are: what keeps one from being read or answered, and names on a watch list
// that fit nobody.
import { networks } from '#api/wire/validators.ts'
import type { AppContext } from '#server/context.ts'
import { networkStream, readNetworkHealth } from '#validators/ingest/health.ts'
import { findUnknownWatched, unknownWatchedShownMax } from '#validators/ingest/unknown-watched.ts'
import { badFinding, type DoctorFinding, warnFinding } from './diagnosis.ts'

export async function networkFindings(context: AppContext): Promise<DoctorFinding[]> {
  if (!context.settings.groups.validators.on) return []
  const findings: DoctorFinding[] = []
  for (const network of networks) {
    const name = networkStream(network)
    const { covered, problem: trouble } = await readNetworkHealth(context, network)
    if (trouble) findings.push(badFinding(name, trouble.message, trouble.todo))
    // Before anything was read nobody is known.
    const { watch } = context.settings.validators.networks[network]
    const absent = covered.length === 0 ? [] : await findUnknownWatched(context.state, network, watch)
    if (absent.length === 0) continue
    const more = absent.length > unknownWatchedShownMax ? ` and ${absent.length - unknownWatchedShownMax} more` : ''
    const message = `its watch list names nobody by ${absent.slice(0, unknownWatchedShownMax).join(', ')}${more}`
    const todo = `correct validators.networks.${network}.watch; one who was added just now is known with the next epoch`
    findings.push(warnFinding(name, message, todo))
  }
  return findings
}
