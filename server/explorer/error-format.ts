// The error format of group A.
export { explorerErrorFormat } from '#api/error-formats.ts'
