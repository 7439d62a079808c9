// Runs the extension endpoint explain for `tetrad validators explain`, without a key: in a running server, which is
// called over its control socket, or in the command itself.
import { stringifyJson } from '#api/contract/json.ts'
import { complete } from '#core/schema-check.ts'
import type { RequestInfo } from '#http/handler.ts'
import type { ValidatorsContext } from '../../context.ts'
import { invalidInput } from '../../requests/requested-epochs.ts'
import { explain } from './explain.ts'

const operator: RequestInfo = { caller: { keyId: '', plan: 'enterprise' }, origin: '', headers: {}, query: {} }

/** Returns JSON text, so that large integers keep every digit; null: the validator does not exist. */
export async function explainForOperator(context: ValidatorsContext, input: unknown): Promise<string | null> {
  const { value, problems } = complete(explain.endpoint.input, input)
  if (problems.length > 0) throw invalidInput(problems)
  const result = await explain.handle(value, context, operator)
  return result.is === 'body' ? stringifyJson({ ...result.body, coverage: result.confidence?.coverage }) : null
}
