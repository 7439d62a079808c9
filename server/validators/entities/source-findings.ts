// What is wrong with the sources of entities, for /readyz and the doctor: a configured file that is not valid, and registries
// of the chain that cannot be read. What they named before stays in force, so the server is ready all the same.
import type { Network } from '#api/contract/wire/validators.ts'
import type { Finding } from '#http/health.ts'
import { networksOf } from '#runtime/settings/validators.ts'
import type { StateReader } from '#storage/state.ts'
import type { ValidatorsContext } from '../context.ts'
import { configuredSources } from './resolve-rules.ts'

export interface SourceProblem {
  readonly message: string
  readonly todo: string
}

const [, fromFile] = configuredSources

export async function readSourceProblems(state: StateReader, network: Network): Promise<SourceProblem[]> {
  const rows = await state.all<{ source: string; problem: string; unix: number | null }>(
    `select source, problem, at_unix as unix from entity_sources
     where network = ? and problem is not null order by source`,
    network,
  )
  return rows.map(({ source, problem, unix }) => {
    if (source === fromFile)
      return {
        message: `the file of entities is not valid; the rules of its last valid version stay in force: ${problem}`,
        todo: 'correct the file; it is read again with the next epoch',
      }
    const kept = unix === null ? 'nothing is known from it yet' : `what it named at ${toIso(unix)} stays in force`
    const setting = `validators.networks.${network}.entities.registries`
    return {
      message: `the registry ${source} is not read, ${kept}: ${problem}`,
      todo: `it is asked again every minute; if its contracts have changed, update Tetrad, or set them to none in ${setting}`,
    }
  })
}

const toIso = (unix: number): string => new Date(unix * 1000).toISOString()

export async function entityFindings({
  ingest,
  settings,
}: Pick<ValidatorsContext, 'ingest' | 'settings'>): Promise<Finding[]> {
  if (!settings.groups.validators.enabled) return []
  const findings = await Promise.all(
    networksOf(settings).map(async (network) =>
      (await readSourceProblems(ingest, network)).map(({ message }): Finding => {
        return { name: `entities ${network}`, ok: false, message, required: false }
      }),
    ),
  )
  return findings.flat()
}
