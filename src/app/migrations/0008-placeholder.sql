-- Placeholder: this number belongs to a migration of knowledge that is not merged here yet. Replace it when merging.
select 1;
