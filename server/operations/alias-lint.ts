// Aliases that do nothing: a header that nobody here reads, a field that no reply has. Valid, since a reply may hold fields
// the contract does not list, and hardly meant.
import { openapi } from '#api/openapi.ts'
import { allRoutes } from '#api/routes.ts'
import type { Settings } from '#runtime/settings.ts'
import { type DoctorFinding, warnFinding } from './diagnosis.ts'

/** What the door reads besides the headers of endpoints. */
const serverHeaders = ['authorization', 'content-type', 'accept-encoding', 'if-none-match', 'x-request-id']

export function aliasFindings({ requestHeaders, responseFields }: Settings['aliases']): readonly DoctorFinding[] {
  const inputs = Object.values(allRoutes).flatMap(({ headers }) => Object.values(headers ?? {}))
  const read = new Set([...serverHeaders, ...inputs])
  const lost = Object.entries(requestHeaders).filter(([, to]) => !read.has(to.toLowerCase()))
  const fields = Object.keys(responseFields)
  const written = fields.length > 0 ? fieldsIn(openapi()) : new Set()
  const unknown = fields.filter((name) => !written.has(name))
  return [
    ...lost.map(([from, to]) =>
      warnFinding(
        `aliases.requestHeaders.${from}`,
        `leads to ${to}, which nothing here reads`,
        'check how it is spelt',
      ),
    ),
    ...unknown.map((name) =>
      warnFinding(`aliases.responseFields.${name}`, 'renames a field that no reply lists', 'check how it is spelt'),
    ),
  ]
}

/** The name of every member of every record in the document. */
function fieldsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'properties' && typeof inner === 'object') for (const field of Object.keys(inner)) found.add(field)
    fieldsIn(inner, found)
  }
  return found
}
