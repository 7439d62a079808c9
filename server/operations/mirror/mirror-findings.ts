// Doctor checks of the ClickHouse mirror: whether it can be reached, and how far it is behind. They only warn, because
// responses do not depend on the mirror.
import { ageText } from '#core/age.ts'
import { errorMessage } from '#core/error-message.ts'
import type { Context } from '#http/context.ts'
import { type DoctorFinding, okFinding, warnFinding } from '../diagnosis.ts'
import { openClickhouse } from './clickhouse-client.ts'
import { type MirrorContext, readMirrorStatus } from './mirror.ts'

/** A unit is noticed within half a minute. A day of a million validators takes minutes to send. */
const lagMaxSeconds = 1800

export async function clickhouseFindings({ settings }: Pick<Context, 'settings'>): Promise<DoctorFinding[]> {
  const { url } = settings.mirrors.clickhouse
  if (url === '') return []
  try {
    const version = await openClickhouse(url).run('select version() format TabSeparated')
    return [okFinding('ClickHouse', `reachable, version ${version.trim()}`)]
  } catch (error) {
    const todo = 'check mirrors.clickhouse.url and the ClickHouse server; missing rows are sent later'
    return [warnFinding('ClickHouse', errorMessage(error), todo)]
  }
}

/** From our own databases alone. */
export async function mirrorFindings(context: MirrorContext): Promise<DoctorFinding[]> {
  if (context.settings.mirrors.clickhouse.url === '') return []
  const name = 'ClickHouse mirror'
  const late = (await readMirrorStatus(context)).filter(({ lagSeconds }) => lagSeconds > lagMaxSeconds)
  if (late.length === 0) return [okFinding(name, 'up to date')]
  return late.map(({ network, unitName, pending, lagSeconds }) =>
    warnFinding(
      `${name}: ${unitName} of ${network}`,
      `${ageText(lagSeconds)} behind, ${pending} to send`,
      'wait, then check again; the log has the errors',
    ),
  )
}
