// Ways to be wrong about what holds for every path, and about keys.
import { anyKey, type Break, header, status, statusWhere, unheard, words } from './change.ts'

export const houseBreaks: readonly Break[] = [
  ['x-request-id is missing', 'house.request-id', header('x-request-id')],
  ['the caller’s x-request-id is replaced', 'house.request-id', unheard('x-request-id')],
  ['all requests have the same id', 'house.request-id', header('x-request-id', 'one')],
  ['HEAD is not answered', 'house.head', statusWhere(404, ({ method }) => method === 'HEAD')],
  [
    'HEAD tells another length',
    'house.head',
    {
      give: ({ headers }, { method }) => {
        if (method === 'HEAD') headers.set('content-length', '1')
        return { headers }
      },
    },
  ],
  ['other origins may not read', 'house.cors', header('access-control-allow-origin')],
  ['pages may not send a key', 'house.cors', header('access-control-allow-headers')],
  ['a wrong method is a 404', 'house.method', status(405, 404)],
  ['a wrong method is not told which are right', 'house.method', header('allow')],
  ['an unknown path is a 200', 'house.unknown-path', status(404, 200)],
  [
    'an unknown parameter is refused',
    'house.unknown-parameter',
    statusWhere(400, ({ url }) => url.searchParams.has('surprise')),
  ],
  [
    'a failure repeats the key',
    'house.key-unsaid',
    { give: ({ text }, { url }) => ({ text: `${text}\n${url.searchParams.get('apikey') ?? ''}` }) },
  ],
  ['finality is told in other words', 'house.confidence', header('x-tetrad-finality', 'maybe')],
  ['no key is needed', 'house.key.missing', anyKey],
  ['parameters are checked before the key', 'house.key.before-parameters', words('Missing/Invalid API Key', 'Error!')],
  ['a bad key is a 403', 'house.key.unknown.validators.metadata', status(401, 403)],
  ['www-authenticate is missing', 'house.key.unknown.validators.metadata', header('www-authenticate')],
  ['a bad key is told in other words', 'house.key.unknown.explorer.fundedBy', words('Invalid API Key', 'Wrong key')],
  ['two parts of a key are enough', 'house.key.incomplete.fx.createQuote', anyKey],
  ['every plan may do everything', 'house.key.plan', anyKey],
]
