// Runs the extension endpoints explain and find for `tetrad validators`, without a key: in a running server, which is
// called over its control socket, or in the command itself.
import { stringifyJson } from '#api/json.ts'
import { complete } from '#core/schema-check.ts'
import type { Context } from '#http/context.ts'
import type { Handler, RequestInfo } from '#http/handler.ts'
import { explain } from './endpoints/explain.ts'
import { find } from './endpoints/find.ts'
import { invalidInput } from './ratings/requested-epochs.ts'

const operator: RequestInfo = { caller: { keyId: '', plan: 'enterprise' }, origin: '', headers: {} }

const operatorQueries = { explain, find } as const
export type OperatorQuery = keyof typeof operatorQueries

/** Returns JSON text, so that large integers keep every digit; null: the validator does not exist. */
export async function runOperatorQuery(context: Context, name: OperatorQuery, input: unknown): Promise<string | null> {
  const { endpoint, handle }: Handler = operatorQueries[name] as Handler
  const { value, problems } = complete(endpoint.input, input)
  if (problems.length > 0) throw invalidInput(problems)
  const result = await handle(value as never, context, operator)
  return result.is === 'body'
    ? stringifyJson({ ...(result.body as object), coverage: result.confidence?.coverage })
    : null
}
