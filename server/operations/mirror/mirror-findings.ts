// Doctor check of the ClickHouse mirror: whether it can be reached, and how far it is behind.
import { ageText } from '#core/age.ts'
import { type DoctorFinding, okFinding, warnFinding } from '../diagnosis.ts'
import { openClickhouse } from './clickhouse-client.ts'
import { type MirrorContext, readMirrorStatus } from './mirror.ts'

/** A unit is noticed within half a minute. A day of a million validators takes minutes to send. */
const lagMaxSeconds = 1800

/** Warnings only: responses do not depend on the mirror. */
export async function mirrorFindings(context: MirrorContext): Promise<DoctorFinding[]> {
  const { url } = context.settings.mirrors.clickhouse
  if (url === '') return []
  const name = 'ClickHouse mirror'
  const statuses = await readMirrorStatus(context)
  let version: string
  try {
    version = (await openClickhouse(url).run('select version() format TabSeparated')).trim()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return [
      warnFinding(name, reason, 'check mirrors.clickhouse.url and the ClickHouse server; nothing is lost meanwhile'),
    ]
  }
  const late = statuses.filter(({ lagSeconds }) => lagSeconds > lagMaxSeconds)
  if (late.length === 0) return [okFinding(name, `up to date, ClickHouse ${version}`)]
  return late.map(({ network, unitName, pending, lagSeconds }) =>
    warnFinding(
      `${name}: ${unitName} of ${network}`,
      `${ageText(lagSeconds)} behind, ${pending} to send`,
      'wait, then check again; the log has the errors',
    ),
  )
}
