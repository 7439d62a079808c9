// What the doctor says of networks beyond how old they are: what keeps one from being read or answered, and names on a watch list
// that fit nobody.
import { networks } from '#api/wire/validators.ts'
import { absentOf, absentShown } from '#groups/validators/ingest/absent.ts'
import { networkHealth, networkStream } from '#groups/validators/ingest/health.ts'
import type { Desk } from '#serve/answer.ts'
import { bad, type Diagnosis, warn } from './diagnosis.ts'

export async function networkFindings(desk: Desk): Promise<Diagnosis[]> {
  if (!desk.settings.groups.validators.on) return []
  const findings: Diagnosis[] = []
  for (const network of networks) {
    const name = networkStream(network)
    const { covered, trouble } = await networkHealth(desk, network)
    if (trouble) findings.push(bad(name, trouble.says, trouble.todo))
    // Before anything was read nobody is known.
    const { watch } = desk.settings.validators.networks[network]
    const absent = covered.length === 0 ? [] : await absentOf(desk.state, network, watch)
    if (absent.length === 0) continue
    const more = absent.length > absentShown ? ` and ${absent.length - absentShown} more` : ''
    const says = `its watch list names nobody by ${absent.slice(0, absentShown).join(', ')}${more}`
    const todo = `correct validators.networks.${network}.watch; one who was added just now is known with the next epoch`
    findings.push(warn(name, says, todo))
  }
  return findings
}
