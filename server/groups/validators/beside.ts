// The questions beyond the specification as the operator's commands put them: beside a running server over its control
// socket, or with the stores at hand. The same answers, without a key.
import { stringifyJson } from '#api/json.ts'
import { complete } from '#core/check.ts'
import type { Answer, Visit } from '#serve/answer.ts'
import type { Context } from '#serve/context.ts'
import { explain } from './explain.ts'
import { find } from './find.ts'
import { refuse } from './span.ts'

const operator: Visit = { caller: { keyId: '', plan: 'enterprise' }, requestId: '', origin: '', headers: {} }

const questions = { explain, find } as const
export type BesideQuestion = keyof typeof questions

/** JSON text, so that large integers keep every digit; null: there is no such validator. */
export async function askBeside(context: Context, name: BesideQuestion, input: unknown): Promise<string | null> {
  const { endpoint, reply }: Answer = questions[name] as Answer
  const { value, problems } = complete(endpoint.input, input)
  if (problems.length > 0) throw refuse(problems)
  const outcome = await reply(value as never, context, operator)
  return outcome.is === 'body'
    ? stringifyJson({ ...(outcome.body as object), coverage: outcome.confidence?.coverage })
    : null
}
