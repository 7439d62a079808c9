// The error format of group C.
export { validatorsErrorFormat } from '#api/error-formats.ts'
