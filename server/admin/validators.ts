// What the page of a validator in the console shows about its entity. Visitors use this page too, so the call needs an API
// key instead of a session. Permissions and limits are those of validators.find.
import { extensions } from '#api/contract/extensions.ts'
import { Fault } from '#core/fault.ts'
import type { Authorizer } from '#http/authorize.ts'
import { jsonResponse } from '#http/render.ts'
import type { ExtraRoute } from '#http/routes.ts'
import { networksOf } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import { explainEntity } from '#validators/entities/explain-entity.ts'

const validatorPattern = /^(\d{1,12}|(0x)?[0-9a-f]{96})$/i

export function validatorRoutes(
  { settings }: Pick<AppContext, 'settings'>,
  authorizer: Pick<Authorizer, 'authorize'>,
): readonly ExtraRoute<AppContext>[] {
  if (!settings.groups.validators.enabled) return []
  return [
    {
      path: '/console/validators/{network}/{validator}/entity',
      sameOrigin: true,
      read: async (request, { ingest }) => {
        await authorizer.authorize({ endpoint: extensions['validators.find'] }, request)
        const { network = '', validator = '' } = request.params
        const isKnown = networksOf(settings).includes(network) && validatorPattern.test(validator)
        const entity = isKnown ? await explainEntity(ingest, network, validator) : undefined
        if (!entity) throw new Fault('record.not_found')
        return jsonResponse(entity)
      },
    },
  ]
}
