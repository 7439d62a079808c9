// What the doctor says of networks beyond how old they are: what keeps one from being read or answered, and names on a watch list
// that fit nobody.
import { networks } from '#api/wire/validators.ts'
import { absentOf, absentShown } from '#groups/validators/ingest/absent.ts'
import { networkHealth, networkStream } from '#groups/validators/ingest/health.ts'
import type { AppContext } from '../context.ts'
import { bad, type Diagnosis, warn } from './diagnosis.ts'

export async function networkFindings(context: AppContext): Promise<Diagnosis[]> {
  if (!context.settings.groups.validators.on) return []
  const findings: Diagnosis[] = []
  for (const network of networks) {
    const name = networkStream(network)
    const { covered, trouble } = await networkHealth(context, network)
    if (trouble) findings.push(bad(name, trouble.says, trouble.todo))
    // Before anything was read nobody is known.
    const { watch } = context.settings.validators.networks[network]
    const absent = covered.length === 0 ? [] : await absentOf(context.state, network, watch)
    if (absent.length === 0) continue
    const more = absent.length > absentShown ? ` and ${absent.length - absentShown} more` : ''
    const says = `its watch list names nobody by ${absent.slice(0, absentShown).join(', ')}${more}`
    const todo = `correct validators.networks.${network}.watch; one who was added just now is known with the next epoch`
    findings.push(warn(name, says, todo))
  }
  return findings
}
