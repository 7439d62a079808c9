// The error format of paths that belong to no interface, such as /healthz or an unknown path.
import type { ErrorFormat, RaisedFault } from '#api/contract/error-formats.ts'

const formatFaultMessage = ({ publicMessage, problems }: RaisedFault): string =>
  [publicMessage, ...problems.map((problem) => `${problem.at.join('.')} ${problem.message}.`)].join(' ')

export const defaultErrorFormat: ErrorFormat = {
  renderFault: (fault) => ({
    status: fault.status,
    body: { error: { code: fault.code, message: formatFaultMessage(fault) } },
  }),
  renderNotFound: () => ({ status: 404, body: { error: { code: 'record.not_found', message: 'Not found.' } } }),
}
