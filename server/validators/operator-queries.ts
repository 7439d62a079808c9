// The questions beyond the specification as the operator's commands put them: beside a running server over its control
// socket, or with the stores at hand. The same answers, without a key.
import { stringifyJson } from '#api/json.ts'
import { complete } from '#core/schema-check.ts'
import type { Context } from '#http/context.ts'
import type { Handler, RequestInfo } from '#http/handler.ts'
import { explain } from './endpoints/explain.ts'
import { find } from './endpoints/find.ts'
import { invalidInput } from './ratings/requested-epochs.ts'

const operator: RequestInfo = { caller: { keyId: '', plan: 'enterprise' }, requestId: '', origin: '', headers: {} }

const operatorQueries = { explain, find } as const
export type OperatorQuery = keyof typeof operatorQueries

/** JSON text, so that large integers keep every digit; null: there is no such validator. */
export async function runOperatorQuery(context: Context, name: OperatorQuery, input: unknown): Promise<string | null> {
  const { endpoint, handle: reply }: Handler = operatorQueries[name] as Handler
  const { value, problems } = complete(endpoint.input, input)
  if (problems.length > 0) throw invalidInput(problems)
  const outcome = await reply(value as never, context, operator)
  return outcome.is === 'body'
    ? stringifyJson({ ...(outcome.body as object), coverage: outcome.confidence?.coverage })
    : null
}
