// What the doctor can only ask whoever has the stores open: whether they are sound, whether what is in them is fresh and
// complete, and whether a sample of stored answers still follows from its sources.
import { rateFindings } from '#groups/fx/rates.ts'
import type { Desk } from '#serve/answer.ts'
import { factsRows } from '#store/backup.ts'
import { listKeys } from '#store/keys.ts'
import { coverageReport, type Stream } from './coverage.ts'
import { bad, type Diagnosis, examined, warn, well } from './diagnosis.ts'
import { rechecks } from './rechecks.ts'

export const samplesMax = 1000
const differingShown = 5

export async function storeDiagnoses(desk: Desk, sampleSize: number): Promise<readonly Diagnosis[]> {
  const count = Math.max(0, Math.min(samplesMax, Math.floor(sampleSize)))
  return [
    ...(await examined('stores', 'see the log; restore the last backup if a file is damaged', () => soundness(desk))),
    ...(await examined('keys', 'see the log', () => keyFindings(desk))),
    ...(await examined('coverage', 'see the log', () => streamFindings(desk))),
    ...(await examined('rates', 'see the log', () => pricing(desk))),
    ...(await recheckFindings(desk, count)),
  ]
}

/** Every row of the facts is read. The state file is looked at from outside (machine.ts): here it would keep callers waiting. */
async function soundness({ state, facts }: Desk): Promise<Diagnosis[]> {
  await state.get('select 1 as one')
  const counts = Object.values(await factsRows(facts))
  return [well('stores', `both answer, and every row of the facts can be read: ${counts.reduce((a, b) => a + b, 0)}`)]
}

async function keyFindings({ state, clock }: Desk): Promise<Diagnosis[]> {
  const nowMs = clock.now()
  const isGood = (expiresAtMs: number | undefined) => expiresAtMs === undefined || expiresAtMs > nowMs
  const keys = (await listKeys(state)).filter((key) => key.revokedAtMs === undefined && isGood(key.expiresAtMs))
  if (keys.length > 0) return [well('keys', `${keys.length} in use`)]
  return [warn('keys', 'there is no key, so only the open interface answers', 'tetrad keys create --name … --plan …')]
}

async function streamFindings(desk: Desk): Promise<Diagnosis[]> {
  return (await coverageReport(desk)).streams.map(aboutStream)
}

function aboutStream(stream: Stream): Diagnosis {
  const { group, name, holesCount, holes, complete, fresh, ageSeconds, until } = stream
  const age = ageSeconds === null ? '' : `, ${ageSeconds} s old`
  if (holesCount > 0) {
    const [first] = holes
    const says = `${holesCount} holes, the first from ${first?.from} to ${(first?.until ?? 1) - 1}${age}`
    const todo = group === 'explorer' ? `tetrad repair --chain ${name.split(' ')[1]}` : 'read the missing stretch again'
    return bad(name, says, todo)
  }
  if (!complete) return bad(name, `has not been read completely yet${age}`, 'let the server run, and see its log')
  if (fresh === false) return bad(name, `is stale${age}`, 'see the log for this source')
  return well(name, `complete${until === null ? '' : ` up to ${until - 1}`}${age}`)
}

async function pricing(desk: Desk): Promise<Diagnosis[]> {
  return (await rateFindings(desk)).map(({ name, ok, says }) =>
    ok ? well(name, says) : bad(name, says, 'see each source above; quotes are refused until a rate is fresh'),
  )
}

async function recheckFindings(desk: Desk, count: number): Promise<Diagnosis[]> {
  if (count === 0) return []
  const findings: Diagnosis[] = []
  for (const { name, run, todo } of rechecks) {
    const title = `recheck: ${name}`
    findings.push(
      ...(await examined(title, 'see the log', async () => {
        const { checked, differing, unable } = await run(desk, count)
        if (differing.length > 0) {
          const more = differing.length > differingShown ? `; and ${differing.length - differingShown} more` : ''
          return [bad(title, `${differing.slice(0, differingShown).join('; ')}${more}`, todo)]
        }
        const says = checked === 0 ? 'nothing to check' : `${checked} agree`
        return [well(title, unable === undefined ? says : `${says} (${unable})`)]
      })),
    )
  }
  return findings
}
