// The rules of the configuration (`entities.rules`) and of the file that it names (`entities.file`). The file is read again
// when it changes. If it is not valid, the rules of its last valid version stay in force, also after a restart.
import type { Network } from '#api/contract/wire/validators.ts'
import { errorMessage } from '#core/error-message.ts'
import { fileStamp } from '#runtime/read-folder.ts'
import { readTextFile } from '#runtime/read-text-file.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import { putRow } from '#storage/put-row.ts'
import type { ValidatorsContext } from '../context.ts'
import { parseEntityRecords, parseRules } from './parse-rules.ts'
import { configuredSources } from './resolve-rules.ts'
import { type EntityRule, replaceRules, withoutReplaced } from './rules.ts'

/** Enough for a million keys. */
const bytesMax = 256 * 1024 * 1024

const [fromConfiguration, fromFile] = configuredSources

/** A function that stores what has changed since its last call. It logs each problem of the file once. */
export function createConfiguredRules(
  { ingest, settings, log }: Pick<ValidatorsContext, 'ingest' | 'settings' | 'log'>,
  network: Network,
): () => Promise<void> {
  const { rules, file } = networkSettings(settings, network).entities
  const replace = (source: string, list: readonly EntityRule[]) =>
    replaceRules(ingest, network, { kind: 'rule', source }, withoutReplaced(list))
  /** For /readyz and the doctor, which may run in another process. */
  const storeProblem = (problem: string | null) =>
    ingest.write(
      async (tx) => {
        const key = { network, source: fromFile }
        if (problem === null)
          await tx.run('delete from entity_sources where network = ? and source = ?', network, fromFile)
        else await putRow(tx, 'entity_sources', ['network', 'source'], { ...key, contracts: '', problem })
      },
      { lock: 'registry' },
    )
  let isStored = false
  let lastStamp: string | undefined
  return async () => {
    if (!isStored) {
      await replace(fromConfiguration, parseRules(rules.map((record, at) => ({ at, record }))).rules)
      if (file === '') {
        await replace(fromFile, [])
        await storeProblem(null)
      }
      isStored = true
    }
    if (file === '') return
    const stamp = (await fileStamp(file)) ?? 'missing'
    if (stamp === lastStamp) return
    const parsed = await readRulesFile(file).catch((error) => ({ problem: errorMessage(error) }))
    if ('problem' in parsed) {
      const message = 'the file of entities is not valid; the rules of its last valid version stay in force'
      log.warn({ network, reason: parsed.problem }, message)
      await storeProblem(parsed.problem)
    } else {
      const changed = await replace(fromFile, parsed)
      await storeProblem(null)
      if (changed > 0) log.info({ network, rules: parsed.length, changed }, 'file of entities read')
    }
    lastStamp = stamp
  }
}

/** One invalid record makes the file invalid. An empty file is refused: it is rather a mistake. */
async function readRulesFile(path: string): Promise<EntityRule[]> {
  const text = await readTextFile(path, bytesMax)
  if (text.trim() === '') throw new Error(`${path} is empty`)
  try {
    const { rules, rejects } = parseRules(parseEntityRecords(text))
    const [reject] = rejects
    if (reject) throw new Error(`${/^\s*\[/.test(text) ? 'record' : 'line'} ${reject.at}: ${reject.reason}`)
    return rules
  } catch (error) {
    throw new Error(`${path}, ${errorMessage(error)}`, { cause: error })
  }
}
