// Runs the endpoint comparison for `tetrad validators compare`, without a key: in a running server, which is called over
// its control socket, or in the command itself. Without a selection, it compares the validators of the watch list.
import { stringifyJson } from '#api/contract/json.ts'
import { comparedMax } from '#api/contract/wire/validators-comparison.ts'
import { complete } from '#core/schema-check.ts'
import type { RequestInfo } from '#http/handler.ts'
import type { ValidatorsContext } from '../../context.ts'
import { readWatched } from '../../duties/watch-ranges.ts'
import { invalidInput } from '../../requests/requested-epochs.ts'
import { selectionsIn } from '../income/select-validators.ts'
import { comparison } from './comparison.ts'

const operator: RequestInfo = { caller: { keyId: '', plan: 'enterprise' }, origin: '', headers: {}, query: {} }

/** Returns JSON text; null: no validator was found. */
export async function comparisonForOperator(context: ValidatorsContext, input: unknown): Promise<string | null> {
  const { value, problems } = complete(comparison.endpoint.input, input)
  if (problems.length > 0) throw invalidInput(problems)
  const query = value as Parameters<typeof comparison.handle>[0]
  const watched = selectionsIn(query).length > 0 ? undefined : await readWatched(context.duties, query.network)
  const indices = watched === undefined || watched === 'everyone' ? undefined : [...watched].slice(0, comparedMax)
  if (indices?.length === 0) return null
  const result = await comparison.handle({ ...query, ...(indices && { indices }) }, context, operator)
  return result.is === 'body' ? stringifyJson({ ...result.body, coverage: result.confidence?.coverage }) : null
}
