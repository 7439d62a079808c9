// Runs the endpoint income for `tetrad validators income`, without a key: in a running server, which is called over its
// control socket, or in the command itself.
import { stringifyJson } from '#api/contract/json.ts'
import { complete } from '#core/schema-check.ts'
import type { RequestInfo } from '#http/handler.ts'
import type { ValidatorsContext } from '#validators/context.ts'
import { invalidInput } from '#validators/requests/requested-epochs.ts'
import { income } from './income.ts'

const operator: RequestInfo = { caller: { keyId: '', plan: 'enterprise' }, origin: '', headers: {}, query: {} }

/** Returns JSON text, so that large integers keep every digit; null: no validator was found. */
export async function incomeForOperator(context: ValidatorsContext, input: unknown): Promise<string | null> {
  const { value, problems } = complete(income.endpoint.input, input)
  if (problems.length > 0) throw invalidInput(problems)
  const result = await income.handle(value, context, operator)
  return result.is === 'body' ? stringifyJson({ ...result.body, coverage: result.confidence?.coverage }) : null
}
