// Overrides of FX pricing for the operator: pauses and spreads. The command line uses the same functions.

import { changeOverride, type Overrides, overrideView, readOverrides } from '#fx/pricing/overrides.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { AppContext } from '#server/context.ts'
import { OverrideInput, type OverrideList } from '#shared/console-calls.ts'
import { bodyOf, operatorRoute } from './operator-requests.ts'
import type { Session } from './sessions.ts'

export const overrideRoutes: readonly ExtraRoute<AppContext>[] = [
  operatorRoute('/console/fx/overrides', {
    GET: async (_, { state }) => toList(await readOverrides(state)),
    POST: change,
  }),
]

const toList = ({ list }: Overrides): OverrideList => ({ overrides: list.map(overrideView) })

async function change(request: ApiRequest, context: AppContext, { id }: Session): Promise<OverrideList> {
  const { pair, ...changes } = bodyOf(request, OverrideInput)
  const by = `console session ${id}`
  const changed = await changeOverride(context, { pair: pair === 'all' ? null : pair, ...changes }, by)
  context.log.info({ pair, ...changes, by }, 'FX override changed')
  return toList(changed)
}
